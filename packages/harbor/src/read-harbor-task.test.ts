import { chmod, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { fixtureTasks, temporaryFolder, writeTask } from './__fixtures__/write-task.ts'
import { readHarborTask } from './read-harbor-task.ts'

const read = (name: string) => readHarborTask(join(fixtureTasks, name))

describe('every schema version is read', () => {
  test('none: a file without version, [task] and [environment] has the defaults', async () => {
    expect(await read('schema-none')).toMatchObject({
      name: 'schema-none',
      schemaVersion: null,
      packageName: null,
      source: null,
      metadata: { difficulty: 'hard' },
      instruction: 'Fix the bug in the parser.\n',
      agent: { timeoutSec: 3000, user: null, network: null },
      verifier: { timeoutSec: 3000, user: null, network: null, env: {}, isSeparate: false, collect: [] },
      environment: {
        os: 'linux',
        buildTimeoutSec: 600,
        dockerImage: null,
        workdir: null,
        cpus: null,
        memoryMb: null,
        storageMb: null,
        gpus: null,
        gpuTypes: [],
        tpu: null,
        network: { mode: 'public' },
        env: {},
        skillsDirectory: null,
        mcpServers: [],
        healthcheck: null,
      },
      artifacts: [],
      steps: [],
      warnings: [],
      problemStatement: null,
      composeFile: null,
    })
  })

  test('1.0: `version` is the schema version, and sizes are text', async () => {
    const task = await read('schema-1.0')
    expect(task).toMatchObject({
      name: 'schema-1.0',
      schemaVersion: '1.0',
      instruction: 'Write the largest eigenvalue to answer.txt.\n\n  Keep the blank lines below.\n\n',
      environment: { dockerImage: 'example/largest-eigenvalue:20251031', cpus: 1, memoryMb: 4096, storageMb: 10_240 },
      metadata: { tags: ['eigen', 'numbers'], expert_time_estimate_min: 60 },
    })
    expect(task.warnings).toEqual([
      'environment.memory is deprecated; it was read as environment.memory_mb = 4096',
      'environment.storage is deprecated; it was read as environment.storage_mb = 10240',
    ])
  })

  test('1.1: package name, users, templates, tool servers, health check; unknown keys are left alone', async () => {
    const task = await read('schema-1.1')
    expect(task).toMatchObject({
      name: 'example/ask-the-server',
      schemaVersion: '1.1',
      source: 'example-benchmark',
      metadata: { created: '2025-11-29T10:00:00.000Z', seed: '9007199254740993', limit: 'Infinity' },
      agent: { timeoutSec: 120, user: 'agent' },
      verifier: { timeoutSec: 600, user: 0, env: { JUDGE_KEY: '${JUDGE_KEY:-none}', PLAIN: 'prefix-${PLAIN}' } },
      environment: {
        cpus: 2,
        memoryMb: 4096,
        gpus: 0,
        network: { mode: 'no-network' },
        env: { MODE: '${MODE:-slow}' },
        skillsDirectory: '/skills',
        mcpServers: [
          { name: 'answers', transport: 'streamable-http', url: 'http://127.0.0.1:8000/mcp' },
          { name: 'local', transport: 'stdio', command: 'answers', args: ['--stdio'] },
        ],
        healthcheck: {
          command: 'test -f /ready',
          intervalSec: 5,
          timeoutSec: 30,
          startPeriodSec: 0,
          startIntervalSec: 5,
          retries: 5,
        },
      },
      dockerfile: { base: 'python:3.12-slim', workdir: '/srv/app/data', buildInstruction: null },
    })
  })

  test('1.2: os in any case, workdir, artifacts; network_mode wins over allow_internet; equal sizes may both stand', async () => {
    expect(await read('schema-1.2')).toMatchObject({
      schemaVersion: '1.2',
      artifacts: [
        { source: '/app/report.html', destination: null, exclude: [], service: null },
        { source: '/app/logs', destination: 'logs', exclude: ['*.tmp'], service: null },
      ],
      environment: { os: 'linux', workdir: '/custom', network: { mode: 'public' }, memoryMb: 512 },
    })
  })

  test('1.3: each phase may have a network policy of its own', async () => {
    expect(await read('schema-1.3')).toMatchObject({
      schemaVersion: '1.3',
      agent: { network: { mode: 'allowlist', allowedHosts: ['example.org', '*.example.com', '192.0.2.1'] } },
      verifier: { network: { mode: 'no-network' } },
      environment: { dockerImage: 'example/prebuilt:1', network: { mode: 'public' } },
      dockerfile: null,
      hasEnvironmentFiles: true,
    })
  })

  test('1.4: collect hooks, artifact services, address ranges', async () => {
    expect(await read('schema-1.4')).toMatchObject({
      schemaVersion: '1.4',
      verifier: {
        collect: [{ command: 'cp state.db /logs/artifacts', service: 'main', timeoutSec: 60, user: 'root' }],
      },
      environment: { network: { mode: 'allowlist', allowedHosts: ['10.0.0.0/8', '2001:db8::/32'] } },
      artifacts: [{ source: '/logs/artifacts/state.db', service: 'main' }],
    })
  })

  test('a version of the future is read like the others', async () => {
    const folder = await writeTask({ 'task.toml': 'schema_version = "9.9"\n[agent]\ntimeout_sec = 5\n' })
    expect(await readHarborTask(folder)).toMatchObject({ schemaVersion: '9.9', agent: { timeoutSec: 5 } })
  })
})

describe('what task.toml may say in two ways', () => {
  test.each([
    ['schema_version comes before version', 'schema_version = "1.3"\nversion = "1.0"', { schemaVersion: '1.3' }],
    ['a version may be a number', 'version = 1.5', { schemaVersion: '1.5' }],
    ['a byte order mark is passed over', '\ufeffversion = "1.0"', { schemaVersion: '1.0' }],
    ['sizes are cut to whole megabytes', '[environment]\nmemory = " 1.9996g"', { environment: { memoryMb: 2047 } }],
    ['kilobytes are read', '[environment]\nstorage = "2048K"', { environment: { storageMb: 2 } }],
    [
      'a verifier is separate by its mode',
      '[verifier]\nenvironment_mode = "separate"',
      { verifier: { isSeparate: true } },
    ],
    [
      'a final dot of a host name goes',
      '[agent]\nallowed_hosts = ["A.B."]',
      { agent: { network: { allowedHosts: ['a.b'] } } },
    ],
  ])('%s', async (_, toml, expected) => {
    expect(await readHarborTask(await writeTask({ 'task.toml': toml }))).toMatchObject(expected)
  })
})

test('a byte order mark of the instruction is kept, as Python keeps it', async () => {
  const task = await readHarborTask(await writeTask({ 'instruction.md': '\ufeff# canary\nDo it.\n' }))
  expect(task.instruction).toBe('\ufeff# canary\nDo it.\n')
})

describe('what a task may leave out', () => {
  test('a multi-step task has no instruction and no test of its own', async () => {
    expect(await read('refused-multi-step')).toMatchObject({ steps: ['first', 'second'], instruction: '' })
  })

  test('a separate verifier brings its own test', async () => {
    expect(await read('refused-separate-verifier')).toMatchObject({ verifier: { isSeparate: true } })
  })

  test('a Windows task has a test.bat', async () => {
    expect(await read('refused-windows')).toMatchObject({ environment: { os: 'windows' } })
  })
})

test('a size that is not text is ignored and told', async () => {
  const task = await readHarborTask(await writeTask({ 'task.toml': '[environment]\nmemory = 4096\n' }))
  expect(task.environment.memoryMb).toBeNull()
  expect(task.warnings).toEqual([
    'environment.memory is not text and was ignored, as Harbor does; write environment.memory_mb',
  ])
})

test('hosts alone mean an allow-list, and an empty allow-list denies all', async () => {
  const hostsAlone = await readHarborTask(await writeTask({ 'task.toml': '[environment]\nallowed_hosts = ["a.b"]\n' }))
  expect(hostsAlone.environment.network).toEqual({ mode: 'allowlist', allowedHosts: ['a.b'] })
  const empty = await readHarborTask(await writeTask({ 'task.toml': '[agent]\nnetwork_mode = "allowlist"\n' }))
  expect(empty.agent.network).toEqual({ mode: 'allowlist', allowedHosts: [] })
})

test('of tests/config.json only the problem statement is read, line ends as they stand', async () => {
  const task = await read('swe-bench')
  expect(task.problemStatement).toBe('Separability of nested\r\nmodels is wrong.')
  expect(JSON.stringify(task)).not.toContain('GOLD')
})

test('a tests/config.json of another shape is nobody’s business', async () => {
  const broken = await writeTask({ 'tests/config.json': '{' })
  expect((await readHarborTask(broken)).problemStatement).toBeNull()
  const list = await writeTask({ 'tests/config.json': '[1]' })
  expect((await readHarborTask(list)).problemStatement).toBeNull()
})

test('the digest follows the task, the environment digest the environment', async () => {
  const one = await readHarborTask(await writeTask())
  const other = await readHarborTask(await writeTask({ 'tests/test.sh': 'exit 1\n' }))
  expect(other.digest).not.toBe(one.digest)
  expect(other.environmentDigest).toBe(one.environmentDigest)
})

describe('a broken task gives one line: what, where, what to do', () => {
  test.each([
    [
      'no task.toml',
      { 'task.toml': null },
      'task.toml is missing: a Harbor task has a task.toml beside its instruction.md',
    ],
    [
      'no environment',
      { 'environment/Dockerfile': null },
      'environment is missing: a Harbor task has an environment folder',
    ],
    ['no instruction', { 'instruction.md': null }, 'instruction.md is missing: it is what the agent is asked to do'],
    [
      'nothing asked',
      { 'instruction.md': '# canary\n\n' },
      'instruction.md asks for nothing: write what the agent is to do',
    ],
    ['no test', { 'tests/test.sh': null }, 'test.sh is missing: without it no attempt can be graded'],
    [
      'a test of another system',
      { 'tests/test.sh': null, 'tests/test.bat': '' },
      'test.sh is missing: without it no attempt can be graded',
    ],
    ['no TOML', { 'task.toml': 'a = 1\nb = \n' }, 'task.toml:2 is not TOML: '],
    ['no UTF-8', { 'instruction.md': new Uint8Array([0x61, 0xff]) }, 'instruction.md is not UTF-8 text'],
  ])('%s', async (_, files, message) => {
    const failure = await readHarborTask(await writeTask(files)).catch((error: unknown) => error)
    expect(failure).toMatchObject({
      name: 'TaskError',
      code: 'task_invalid',
      message: expect.stringContaining(message),
    })
    expect(String(failure)).not.toContain('\n')
  })

  test.each([
    [
      'version = 1\n[agent]\ntimeout_sec = "soon"',
      'agent.timeout_sec: expected a number of seconds above 0, found "soon"',
    ],
    ['[agent]\ntimeout_sec = 0', 'agent.timeout_sec: expected a number of seconds above 0, found 0'],
    ['[verifier]\ntimeout_sec = inf', 'verifier.timeout_sec: expected a number of seconds above 0, found "Infinity"'],
    ['[agent]\nuser = []', 'agent.user: expected a user name or a user id, found []'],
    ['[environment.env]\nPORT = 80', 'environment.env.PORT: expected text, found 80'],
    [
      '[environment]\nmemory = "4 gigs"',
      'environment.memory: expected a size such as "4G", "512M" or "100K", found "4 gigs"',
    ],
    [
      '[environment]\nmemory = "1G"\nmemory_mb = 512',
      'environment.memory: expected the 512 MB of environment.memory_mb, found "1G"',
    ],
    [
      '[environment]\nstorage_mb = 1.5',
      'environment.storage_mb: expected a whole number of megabytes above 0, found 1.5',
    ],
    ['[environment]\nos = "plan9"', 'environment.os: expected "linux" or "windows", found "plan9"'],
    [
      '[environment]\nnetwork_mode = "some"',
      'environment.network_mode: expected "public", "no-network" or "allowlist", found "some"',
    ],
    [
      '[agent]\nnetwork_mode = "public"\nallowed_hosts = ["a"]',
      'agent.allowed_hosts: allowed only beside network_mode = "allowlist", found network_mode = "public"',
    ],
    [
      '[verifier]\nallowed_hosts = ["http://a"]',
      'verifier.allowed_hosts: expected a host name, "*.name", an address or a CIDR range, found "http://a"',
    ],
    ['[verifier]\nallowed_hosts = ["10.0.0.0/33"]', 'found "10.0.0.0/33"'],
    ['[verifier]\nallowed_hosts = ["*.10.0.0.1"]', 'found "*.10.0.0.1"'],
    [
      '[environment]\ntpu = { type = "v6e", topology = "2" }',
      'environment.tpu.topology: expected dimensions such as "2x4", found "2"',
    ],
    [
      '[[environment.mcp_servers]]\nname = "a"',
      'environment.mcp_servers[0].url: expected text, as transport is "sse", found nothing',
    ],
    [
      '[[environment.mcp_servers]]\nname = "a"\ntransport = "stdio"',
      'environment.mcp_servers[0].command: expected text, as transport is "stdio", found nothing',
    ],
    [
      '[[environment.mcp_servers]]\nname = "a"\ntransport = "pigeon"',
      'environment.mcp_servers[0].transport: expected "sse" or "streamable-http" or "stdio", found "pigeon"',
    ],
    ['[environment.healthcheck]\nretries = 3', 'environment.healthcheck.command: expected text, found nothing'],
    ['[task]\nname = "no-organisation"', 'task.name: expected a name such as "org/name", found "no-organisation"'],
    ['[task]\nname = "a/b..c"', 'task.name: expected a name such as "org/name", found "a/b..c"'],
    [
      'artifacts = [{ destination = "x" }]',
      'artifacts[0]: expected text or a table with a source, found {"destination":"x"}',
    ],
    ['[[steps]]\nname = ""', 'steps[0].name: expected text that is not empty, found ""'],
    [
      '[verifier]\nenvironment_mode = "shared"\n[verifier.environment]\ncpus = 1',
      'verifier.environment: expected none, as verifier.environment_mode is "shared"',
    ],
    ['agent = "x"', 'agent: expected a table, found "x"'],
  ])('%j', async (toml, message) => {
    await expect(readHarborTask(await writeTask({ 'task.toml': toml }))).rejects.toMatchObject({
      code: 'task_invalid',
      message: expect.stringContaining(message),
    })
  })

  test('several wrong values are told at once', async () => {
    const toml = '[agent]\ntimeout_sec = 0\nuser = ""\n'
    await expect(readHarborTask(await writeTask({ 'task.toml': toml }))).rejects.toThrow(
      /agent\.timeout_sec.*; agent\.user/,
    )
  })

  test('a folder that is not there', async () => {
    await expect(readHarborTask('/no/such/task')).rejects.toMatchObject({
      code: 'task_not_found',
      message: 'There is no task directory at /no/such/task: check the path',
    })
  })

  test('a file instead of a folder', async () => {
    const task = await writeTask()
    await expect(readHarborTask(join(task, 'task.toml'))).rejects.toMatchObject({ code: 'task_not_found' })
  })

  test('a folder where a file should be', async () => {
    const task = await writeTask()
    await rm(join(task, 'instruction.md'))
    await mkdir(join(task, 'instruction.md'))
    await expect(readHarborTask(task)).rejects.toMatchObject({
      code: 'task_invalid',
      message: expect.stringContaining("instruction.md can't be read (EISDIR)"),
    })
  })
})

test('modes of the task do not matter to its digest', async () => {
  const folder = join(await temporaryFolder(), 'task')
  const before = await readHarborTask(await writeTask({}, folder))
  await chmod(join(folder, 'tests/test.sh'), 0o755)
  expect((await readHarborTask(folder)).digest).toBe(before.digest)
})
