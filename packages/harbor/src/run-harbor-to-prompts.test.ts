import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fixtureTasks, temporaryFolder, writeTask } from './__fixtures__/write-task.ts'
import { convertHarborDataset, type HarborConversion } from './convert-harbor-dataset.ts'
import { runHarborToPrompts, usage, writeRows } from './run-harbor-to-prompts.ts'

async function run(...argv: string[]) {
  const printed: string[] = []
  const reported: string[] = []
  const exitCode = await runHarborToPrompts(argv, {
    hostEnv: {},
    print: (text) => printed.push(text),
    report: (text) => reported.push(text),
  })
  return { exitCode, printed: printed.join(''), reported: reported.join('') }
}
const idsOf = (lines: string): string[] =>
  lines
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).metadata.instance_id)

test('rows go to stdout and refusals to stderr; a refusal fails the run', async () => {
  const { exitCode, printed, reported } = await run(fixtureTasks, '--check-env')
  expect(exitCode).toBe(1)
  expect(idsOf(printed)).toEqual([
    'schema-1.0',
    'example/ask-the-server',
    'schema-1.2',
    'example/allow-list',
    'example/end-point',
    'schema-none',
    'swe-bench',
  ])
  expect(reported.match(/^refused: /gm)).toHaveLength(8)
  expect(reported).toContain('it takes Docker Compose (multi_container)')
  expect(reported).toMatch(/7 rows written to stdout, 8 tasks refused\n$/)
})

test('refusals may be allowed', async () => {
  expect((await run(fixtureTasks, '--allow-refused')).exitCode).toBe(0)
})

test('a file appears whole, in a folder that is made for it', async () => {
  const folder = await temporaryFolder()
  const out = join(folder, 'new', 'rows.jsonl')
  const { exitCode, printed } = await run(join(fixtureTasks, 'schema-1.0'), '--out', out)
  expect({ exitCode, printed }).toEqual({ exitCode: 0, printed: '' })
  expect(idsOf(await readFile(out, 'utf8'))).toEqual(['schema-1.0'])
  expect(await readdir(join(folder, 'new'))).toEqual(['rows.jsonl'])
})

test('a run without a task leaves an earlier file alone', async () => {
  const folder = await temporaryFolder()
  const out = join(folder, 'rows.jsonl')
  await writeFile(out, 'earlier')
  expect(await run('/no/such/folder', '--out', out)).toMatchObject({
    exitCode: 1,
    reported: 'There is no folder at /no/such/folder: check the path\n',
  })
  expect(await readFile(out, 'utf8')).toBe('earlier')
})

test('a failure on the way loses no finished row and leaves an earlier file alone', async () => {
  const folder = await temporaryFolder()
  const out = join(folder, 'rows.jsonl')
  await writeFile(out, 'earlier')
  async function* breaking(): AsyncGenerator<HarborConversion> {
    yield* convertHarborDataset(join(fixtureTasks, 'schema-1.0'))
    throw new Error('disk gone')
  }
  const context = { hostEnv: {}, print: () => {}, report: () => {} }
  await expect(writeRows(breaking(), out, context)).rejects.toThrow('disk gone')
  expect(await readFile(out, 'utf8')).toBe('earlier')
  expect(idsOf(await readFile(`${out}.partial`, 'utf8'))).toEqual(['schema-1.0'])
})

test('options reach the rows', async () => {
  const folder = await temporaryFolder()
  const map = join(folder, 'map.json')
  await writeFile(map, '{"schema-1.4": "mapped:1"}')
  const flags = ['--image-map', map, '--git-url', 'https://example.org/x.git', '--git-commit', 'abc']
  const { printed } = await run(join(fixtureTasks, 'schema-1.4'), ...flags, '--relative-to', fixtureTasks)
  expect(JSON.parse(printed).metadata).toMatchObject({
    image: 'mapped:1',
    harbor: {
      task_dir: 'schema-1.4',
      registry: { git_url: 'https://example.org/x.git', git_commit_id: 'abc', path: '.' },
    },
  })
  const gpu = await run(join(fixtureTasks, 'refused-gpu'), '--accept', 'gpu', '--default-workdir', '/w')
  expect(JSON.parse(gpu.printed).metadata.workdir).toBe('/w')
  const template = await run(join(fixtureTasks, 'schema-1.4'), '--image-template', 'x/{directory}')
  expect(JSON.parse(template.printed).metadata.image).toBe('x/schema-1.4')
})

test.each([
  [[], 'Expected one folder with tasks, found 0. See --help\n'],
  [['a', 'b'], 'Expected one folder with tasks, found 2. See --help\n'],
  [['a', '--accept', 'windows'], '--accept: expected multi_container, gpu, tpu; found "windows"\n'],
  [['a', '--git-commit', 'x'], '--git-commit: add --git-url, so that the commit can be found\n'],
  [['a', '--image-map', '/no/map.json'], "--image-map: /no/map.json can't be read: check the path\n"],
])('wrong usage %j exits with 2 and says why', async (argv, reported) => {
  expect(await run(...argv)).toEqual({ exitCode: 2, printed: '', reported })
})

test('an unknown flag exits with 2', async () => {
  const { exitCode, reported } = await run('a', '--no-such-flag')
  expect(exitCode).toBe(2)
  expect(reported).toContain('--no-such-flag')
})

test('an image map of another shape exits with 2', async () => {
  const map = join(await temporaryFolder(), 'map.json')
  await writeFile(map, '["a"]')
  expect(await run(fixtureTasks, '--image-map', map)).toMatchObject({
    exitCode: 2,
    reported: `${map}: expected a JSON object of image names by instance id, found ["a"]\n`,
  })
})

test('a file that can’t be written fails the run in one line', async () => {
  const task = await writeTask()
  const { exitCode, reported } = await run(task, '--out', join(task, 'task.toml', 'rows.jsonl'))
  expect(exitCode).toBe(1)
  expect(reported.trimEnd().split('\n')).toHaveLength(1)
})

test('help names every reason', async () => {
  expect(await run('--help')).toEqual({ exitCode: 0, printed: usage, reported: '' })
  expect(usage).toContain('separate_verifier: its verifier runs in a container of its own')
})
