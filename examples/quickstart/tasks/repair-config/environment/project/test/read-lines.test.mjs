import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLines } from '../src/read-lines.mjs'

test('settings belong to the section above them', () => {
  assert.deepEqual(readLines('a = 1\n\n[s.t]\nb = 2'), [
    { section: '', key: 'a', raw: '1' },
    { section: 's.t', key: 'b', raw: '2' },
  ])
})

test('comments are left out', () => {
  assert.deepEqual(readLines('# one\na = 1 # two'), [{ section: '', key: 'a', raw: '1' }])
})

test('a # between quotes is text', () => {
  assert.deepEqual(readLines('a = "My #1" # one'), [{ section: '', key: 'a', raw: '"My #1"' }])
})

test('an error names its line', () => {
  assert.throws(() => readLines('a = 1\nnonsense'), /line 2/)
})
