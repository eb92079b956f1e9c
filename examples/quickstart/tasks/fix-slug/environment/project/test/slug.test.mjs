import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slug } from '../src/slug.mjs'

test('letters become small and lose their accents', () => {
  assert.equal(slug('Crème'), 'creme')
})

test('a short title stays whole', () => {
  assert.equal(slug('go-20'), 'go-20')
})

test('a run of other characters becomes one dash', () => {
  assert.equal(slug('Hello,  World'), 'hello-world')
})

test('a slug does not start or end with a dash', () => {
  assert.equal(slug('"What?"'), 'what')
  assert.equal(slug('one two', { maxLength: 4 }), 'one')
})
