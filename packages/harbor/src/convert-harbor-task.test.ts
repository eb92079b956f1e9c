import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { fixtureTasks, temporaryFolder, writeTask } from './__fixtures__/write-task.ts'
import { type ConvertOptions, convertHarborTask } from './convert-harbor-task.ts'
import { readHarborTask } from './read-harbor-task.ts'

async function convert(name: string, options: ConvertOptions = {}) {
  return convertHarborTask(await readHarborTask(join(fixtureTasks, name)), options)
}
async function convertFiles(files: Record<string, string | null>, options: ConvertOptions = {}) {
  return convertHarborTask(await readHarborTask(await writeTask(files)), options)
}

test('a row says all that a rollout needs', async () => {
  const row = await convert('schema-1.1', {
    relativeTo: fixtureTasks,
    registry: { gitUrl: 'https://example.org/tasks.git', gitCommitId: 'abc', path: 'schema-1.1' },
  })
  expect(row).toEqual({
    prompt: 'Ask the tool server for the answer and write it to answer.txt.\n',
    label: 'example/ask-the-server',
    metadata: {
      instance_id: 'example/ask-the-server',
      image: expect.stringMatching(/^agentrl\/example\/ask-the-server:[0-9a-f]{12}$/),
      workdir: '/srv/app/data',
      problem_statement: 'Ask the tool server for the answer and write it to answer.txt.\n',
      eval_cmd: expect.stringContaining('timeout -k 10 600 "$tests/test.sh"'),
      agent_timeout_sec: 120,
      verifier_timeout_sec: 600,
      agent_user: 'agent',
      verifier_user: 0,
      harbor: {
        version: 1,
        name: 'example/ask-the-server',
        schema_version: '1.1',
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        task_dir: 'schema-1.1',
        tests_dir: 'schema-1.1/tests',
        source: 'example-benchmark',
        registry: { git_url: 'https://example.org/tasks.git', git_commit_id: 'abc', path: 'schema-1.1' },
        build: {
          dockerfile: 'schema-1.1/environment/Dockerfile',
          context: 'schema-1.1/environment',
          timeout_sec: 600,
        },
        replay: {
          base_image: 'python:3.12-slim',
          env: { APP_HOME: '/srv/app', MODE: 'fast one' },
          context: 'schema-1.1/environment',
          copies: [{ source: 'project/', target: '/srv/app/data/' }],
        },
        upload_dir: null,
        compose_file: null,
        environment: {
          cpus: 2,
          memory_mb: 4096,
          storage_mb: null,
          gpus: 0,
          gpu_types: [],
          tpu: null,
          env: { MODE: '${MODE:-slow}' },
          skills_dir: '/skills',
          mcp_servers: [
            { name: 'answers', transport: 'streamable-http', url: 'http://127.0.0.1:8000/mcp' },
            { name: 'local', transport: 'stdio', command: 'answers', args: ['--stdio'] },
          ],
          healthcheck: {
            command: 'test -f /ready',
            interval_sec: 5,
            timeout_sec: 30,
            start_period_sec: 0,
            start_interval_sec: 5,
            retries: 5,
          },
        },
        agent_network: { mode: 'no-network', allowed_hosts: [] },
        verifier_network: { mode: 'no-network', allowed_hosts: [] },
        verifier_env: { JUDGE_KEY: '${JUDGE_KEY:-none}', PLAIN: 'prefix-${PLAIN}' },
        verifier_collect: [],
        artifacts: [],
        problem_statement: null,
        metadata: { created: '2025-11-29T10:00:00.000Z', seed: '9007199254740993', limit: 'Infinity' },
        warnings: ['environment.allow_internet is deprecated; write environment.network_mode'],
      },
    },
  })
  expect(JSON.parse(JSON.stringify(row))).toEqual(row)
})

describe('the image', () => {
  test('the map wins, by instance id and by name of the directory', async () => {
    const byId = await convert('schema-1.3', { images: { 'example/allow-list': 'mapped:1', 'schema-1.3': 'mapped:2' } })
    const byDirectory = await convert('schema-1.3', { images: { 'schema-1.3': 'mapped:2' }, imageTemplate: 'no' })
    expect([byId.metadata.image, byDirectory.metadata.image]).toEqual(['mapped:1', 'mapped:2'])
    expect(byId.metadata.harbor.build).toBeNull()
  })

  test('a prebuilt image comes before its own Dockerfile', async () => {
    const row = await convert('schema-1.0', { imageTemplate: 'no' })
    expect(row.metadata).toMatchObject({ image: 'example/largest-eigenvalue:20251031', workdir: '/app' })
    expect(row.metadata.harbor).toMatchObject({ build: null, upload_dir: null })
  })

  test('a prebuilt image without a Dockerfile gets the files of environment/', async () => {
    const row = await convert('schema-1.3', { relativeTo: fixtureTasks })
    expect(row.metadata.harbor.upload_dir).toBe('schema-1.3/environment')
  })

  test('an empty environment/ has nothing to upload', async () => {
    const task = await writeTask({ 'task.toml': '[environment]\ndocker_image = "a"\n', 'environment/Dockerfile': null })
    await mkdir(join(task, 'environment'))
    expect(convertHarborTask(await readHarborTask(task)).metadata.harbor.upload_dir).toBeNull()
  })

  test('a task may be called like a method of objects', async () => {
    const toml = '[task]\nname = "a/b"\n[environment]\ndocker_image = "own:1"\n'
    const folder = await writeTask({ 'task.toml': toml }, join(await temporaryFolder(), 'constructor'))
    expect(convertHarborTask(await readHarborTask(folder), { images: {} }).metadata.image).toBe('own:1')
  })

  test('a task of Docker Compose alone is built by Docker Compose', async () => {
    const files = { 'environment/Dockerfile': null, 'environment/docker-compose.yaml': 'services: {}\n' }
    const row = await convertFiles(files, { accept: ['multi_container'] })
    expect(row.metadata.harbor).toMatchObject({ build: null, upload_dir: null })
  })

  test('a Dockerfile that adds nothing to its base needs no build', async () => {
    const dockerfile = 'FROM node:20\nENV A=1\nWORKDIR /app\n'
    const row = await convertFiles({ 'environment/Dockerfile': dockerfile }, { imageTemplate: 'no' })
    expect(row.metadata).toMatchObject({ image: 'node:20', workdir: '/app' })
    expect(row.metadata.harbor).toMatchObject({ build: null, replay: { base_image: 'node:20', env: { A: '1' } } })
  })

  test('a .dockerignore leaves the copying to a build', async () => {
    const files = { 'environment/Dockerfile': 'FROM a\nCOPY . /app\n', 'environment/.dockerignore': 'secret\n' }
    expect((await convertFiles(files)).metadata.harbor).toMatchObject({ build: { timeout_sec: 600 }, replay: null })
  })

  test('a template names images that are kept elsewhere', async () => {
    const row = await convert('schema-1.4', { imageTemplate: 'mirror/{directory}/{name}:{digest}-{other}' })
    expect(row.metadata.image).toMatch(/^mirror\/schema-1\.4\/example\/end-point:[0-9a-f]{12}-\{other\}$/)
    expect(row.metadata.harbor).toMatchObject({ build: null, replay: null })
  })

  test('the tag to be built is a valid image name that follows the environment', async () => {
    const dockerfile = { 'environment/Dockerfile': 'FROM a\nRUN b\n' }
    const toml = { 'task.toml': '[task]\nname = "Org/My__Task-.x"\n' }
    const one = await convertFiles({ ...dockerfile, ...toml })
    const two = await convertFiles({ ...dockerfile, ...toml, 'instruction.md': 'Do another thing.' })
    const three = await convertFiles({ ...toml, 'environment/Dockerfile': 'FROM a\nRUN c\n' })
    expect(one.metadata.image).toMatch(/^agentrl\/org\/my_task-x:[0-9a-f]{12}$/)
    expect(two.metadata.image).toBe(one.metadata.image)
    expect(three.metadata.image).not.toBe(one.metadata.image)
  })

  test('a task that names nothing to start from is invalid', async () => {
    const files = { 'environment/Dockerfile': '# empty\n' }
    await expect(convertFiles(files)).rejects.toMatchObject({ code: 'task_invalid' })
    expect((await convertFiles(files, { images: { 'a-task': 'mapped:1' } })).metadata.image).toBe('mapped:1')
  })
})

describe('the folder', () => {
  test.each([
    ['task.toml comes first', '[environment]\nworkdir = "/toml"', 'FROM a\nWORKDIR /dockerfile', '/toml'],
    ['then the Dockerfile', '', 'FROM sweb.eval.x86_64.a\nWORKDIR /dockerfile', '/dockerfile'],
    ['then the caller', '', 'FROM swebench/sweb.eval.x86_64.a', '/default'],
  ])('%s', async (_, toml, dockerfile, expected) => {
    const files = { 'task.toml': toml, 'environment/Dockerfile': dockerfile }
    expect((await convertFiles(files, { defaultWorkdir: '/default' })).metadata.workdir).toBe(expected)
  })

  test('then /testbed for SWE-bench images, and else the image knows', async () => {
    expect((await convert('swe-bench')).metadata.workdir).toBe('/testbed')
    expect((await convert('swe-bench', { images: { 'swe-bench': 'mirror:1' } })).metadata.workdir).toBe('/testbed')
    expect((await convertFiles({ 'environment/Dockerfile': 'FROM a/not-sweb.eval.x' })).metadata.workdir).toBeNull()
  })
})

test('the gold solution is in no row', async () => {
  const row = await convert('swe-bench')
  expect(row.metadata.harbor.problem_statement).toBe('Separability of nested\r\nmodels is wrong.')
  expect(JSON.stringify(row)).not.toMatch(/GOLD|solution/)
})

test('a policy of a phase wins over that of the environment', async () => {
  const row = await convert('schema-1.3')
  expect(row.metadata.harbor).toMatchObject({
    agent_network: { mode: 'allowlist', allowed_hosts: ['example.org', '*.example.com', '192.0.2.1'] },
    verifier_network: { mode: 'no-network', allowed_hosts: [] },
  })
})

describe('a valid task that we can’t run is refused with its reason', () => {
  test.each([
    ['refused-windows', ['windows']],
    ['refused-multi-step', ['multi_step']],
    ['refused-separate-verifier', ['separate_verifier']],
    ['refused-prior-trajectory', ['prior_trajectory']],
    ['refused-multi-container', ['multi_container']],
    ['refused-gpu', ['gpu']],
    ['refused-tpu', ['tpu']],
  ])('%s', async (name, reasons) => {
    await expect(convert(name)).rejects.toMatchObject({
      name: 'TaskError',
      code: 'task_unsupported',
      message: expect.stringContaining(join(fixtureTasks, name)),
      details: { reasons },
    })
  })

  test('a missing variable refuses only where the host was given', async () => {
    await expect(convert('refused-unresolved-env', { hostEnv: {} })).rejects.toMatchObject({
      details: { reasons: ['unresolved_env'] },
    })
    const hostEnv = { AGENTRL_TEST_JUDGE_KEY: 'secret' }
    const rows = [await convert('refused-unresolved-env', { hostEnv }), await convert('refused-unresolved-env')]
    expect(rows.map((row) => row.metadata.harbor.verifier_env)).toEqual([
      { JUDGE_KEY: '${AGENTRL_TEST_JUDGE_KEY}' },
      { JUDGE_KEY: '${AGENTRL_TEST_JUDGE_KEY}' },
    ])
  })

  test('a hook or an artifact of another service takes several containers', async () => {
    const hook = { 'task.toml': '[[verifier.collect]]\ncommand = "x"\nservice = "db"\n' }
    await expect(convertFiles(hook)).rejects.toMatchObject({ details: { reasons: ['multi_container'] } })
    const artifact = { 'task.toml': 'artifacts = [{ source = "/x", service = "db" }]\n' }
    await expect(convertFiles(artifact)).rejects.toMatchObject({ details: { reasons: ['multi_container'] } })
  })

  test('all reasons are told at once', async () => {
    const toml = '[environment]\nos = "windows"\ngpus = 2\ntpu = { type = "v6e", topology = "2x4" }\n'
    await expect(convertFiles({ 'task.toml': toml, 'tests/test.bat': '' })).rejects.toMatchObject({
      details: { reasons: ['windows', 'gpu', 'tpu'] },
    })
  })

  test('a capable sandbox lifts the reasons that it copes with', async () => {
    const gpu = await convert('refused-gpu', { accept: ['gpu'] })
    expect(gpu.metadata.harbor.environment).toMatchObject({ gpus: 1, gpu_types: ['H100'] })
    const compose = await convert('refused-multi-container', { accept: ['multi_container'], relativeTo: fixtureTasks })
    expect(compose.metadata.harbor.compose_file).toBe('refused-multi-container/environment/docker-compose.yaml')
  })
})

test('a directory whose name can’t be an id is invalid, with the way out', async () => {
  const folder = await writeTask()
  const task = await readHarborTask(folder)
  expect(() => convertHarborTask({ ...task, name: 'two words' })).toThrow(
    expect.objectContaining({ code: 'task_invalid', message: expect.stringContaining('rename its directory') }),
  )
})
