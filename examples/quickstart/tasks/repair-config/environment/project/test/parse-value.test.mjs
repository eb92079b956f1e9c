import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseValue } from '../src/parse-value.mjs'

test('text is text, with and without quotes', () => {
  assert.equal(parseValue('plain words'), 'plain words')
  assert.equal(parseValue('"8080"'), '8080')
})

test('truth values are read', () => {
  assert.deepEqual(['on', 'yes', 'true'].map(parseValue), [true, true, true])
  assert.deepEqual(['off', 'no', 'false'].map(parseValue), [false, false, false])
})

test('numbers are read', () => {
  assert.deepEqual(['8080', '-1.5', '0', '007'].map(parseValue), [8080, -1.5, 0, 7])
})

test('commas outside quotes make a list', () => {
  assert.deepEqual(parseValue('alpha, "beta, gamma", 3'), ['alpha', 'beta, gamma', 3])
})
