import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergeSettings } from '../src/merge-settings.mjs'

test('later values win', () => {
  assert.deepEqual(mergeSettings({ a: 1, b: 2 }, { b: 3 }), { a: 1, b: 3 })
})

test('sections are merged key by key', () => {
  const base = { server: { port: 1, tls: { cert: 'a', key: 'b' } } }
  const merged = mergeSettings(base, { server: { tls: { key: 'c' } } })
  assert.deepEqual(merged, { server: { port: 1, tls: { cert: 'a', key: 'c' } } })
  assert.deepEqual(base, { server: { port: 1, tls: { cert: 'a', key: 'b' } } })
})

test('lists are replaced', () => {
  assert.deepEqual(mergeSettings({ hosts: ['a', 'b'] }, { hosts: ['c'] }), { hosts: ['c'] })
})
