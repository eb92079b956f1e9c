import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expandReferences } from '../src/expand-references.mjs'

test('a reference becomes the value at its path', () => {
  assert.deepEqual(expandReferences({ a: { b: 1 }, c: ['${a.b}'] }), { a: { b: 1 }, c: ['1'] })
})

test('a text may hold several references', () => {
  assert.deepEqual(expandReferences({ host: 'h', port: 80, url: '${host}:${port}' }).url, 'h:80')
})

test('a path that leads nowhere is an error', () => {
  assert.throws(() => expandReferences({ a: '${b.c}' }), /b\.c/)
})
