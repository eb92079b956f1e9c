import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { fixtureTasks, temporaryFolder, writeTask } from './__fixtures__/write-task.ts'
import { type ConvertDatasetOptions, convertHarborDataset, type HarborConversion } from './convert-harbor-dataset.ts'

async function collect(directory: string, options: ConvertDatasetOptions = {}): Promise<HarborConversion[]> {
  const found: HarborConversion[] = []
  for await (const conversion of convertHarborDataset(directory, options)) found.push(conversion)
  return found
}
const outcome = (conversion: HarborConversion): string =>
  `${basename(conversion.directory)}: ${conversion.kind === 'row' ? 'row' : [conversion.code, ...conversion.reasons].join(' ')}`

test('every task below a folder is converted or refused with its reason, in order', async () => {
  expect((await collect(fixtureTasks, { hostEnv: {} })).map(outcome)).toEqual([
    'refused-gpu: task_unsupported gpu',
    'refused-multi-container: task_unsupported multi_container',
    'refused-multi-step: task_unsupported multi_step',
    'refused-prior-trajectory: task_unsupported prior_trajectory',
    'refused-separate-verifier: task_unsupported separate_verifier',
    'refused-tpu: task_unsupported tpu',
    'refused-unresolved-env: task_unsupported unresolved_env',
    'refused-windows: task_unsupported windows',
    'schema-1.0: row',
    'schema-1.1: row',
    'schema-1.2: row',
    'schema-1.3: row',
    'schema-1.4: row',
    'schema-none: row',
    'swe-bench: row',
  ])
})

test('a broken task never stops the others', async () => {
  const root = await temporaryFolder()
  await writeTask({ 'task.toml': '=' }, join(root, 'a'))
  await writeTask({ 'task.toml': null }, join(root, 'b'))
  await writeTask({ 'tests/test.sh': null }, join(root, 'c'))
  await writeTask({}, join(root, 'd'))
  await writeTask({}, join(root, 'e e'))
  expect((await collect(root)).map(outcome)).toEqual([
    'a: task_invalid',
    'b: task_invalid',
    'c: task_invalid',
    'd: row',
    'e e: task_invalid',
  ])
})

test('tasks are found at any depth, each once, and never inside a task or .git', async () => {
  const root = await temporaryFolder()
  await writeTask({ 'environment/task.toml': 'x', 'environment/nested/task.toml': 'x' }, join(root, 'datasets/one/a'))
  await writeTask({}, join(root, '.git/b'))
  await mkdir(join(root, 'empty'))
  await writeFile(join(root, 'README.md'), '')
  await symlink(join(root, 'datasets'), join(root, 'again'))
  await symlink(root, join(root, 'datasets/loop'))
  await symlink('/no/such/place', join(root, 'dangling'))
  expect((await collect(root)).map(outcome)).toEqual(['a: row'])
})

test('a task itself is a data set of one', async () => {
  expect((await collect(join(fixtureTasks, 'schema-1.0'))).map(outcome)).toEqual(['schema-1.0: row'])
})

test('the second task with one id is refused', async () => {
  const root = await temporaryFolder()
  await writeTask({}, join(root, 'one/same'))
  await writeTask({}, join(root, 'two/same'))
  const [first, second] = await collect(root)
  expect(first?.kind).toBe('row')
  expect(second).toMatchObject({
    code: 'task_invalid',
    message: `${join(root, 'two/same')} has the instance id same of ${join(root, 'one/same')}: rename one, or their attempts would be compared as one group`,
  })
})

test('each row names its own path in the repository', async () => {
  const root = await temporaryFolder()
  await writeTask({}, join(root, 'datasets/a'))
  const [conversion] = await collect(root, { registry: { gitUrl: 'https://example.org/x.git' } })
  expect(conversion).toMatchObject({
    row: {
      metadata: {
        harbor: { registry: { git_url: 'https://example.org/x.git', git_commit_id: null, path: 'datasets/a' } },
      },
    },
  })
})

test('no folder and no task are told apart from an empty data set', async () => {
  await expect(collect('/no/such/folder')).rejects.toMatchObject({ code: 'task_not_found' })
  await expect(collect(await temporaryFolder())).rejects.toMatchObject({ code: 'task_not_found' })
})

test('a signal stops the conversion with its reason', async () => {
  const reason = new Error('enough')
  await expect(collect(fixtureTasks, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
})
