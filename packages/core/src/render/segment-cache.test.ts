import { expect, test } from 'vitest'
import { SegmentCache } from './segment-cache.ts'

function counted() {
  const encoded: string[] = []
  const encode = async (text: string) => {
    encoded.push(text)
    return Int32Array.from(text, (letter) => letter.charCodeAt(0))
  }
  return { encoded, encode }
}

test('a text is encoded once, also for those that ask at the same time', async () => {
  const { encoded, encode } = counted()
  const cache = new SegmentCache(10_000)
  const [first, second] = await Promise.all([cache.get('ab', encode), cache.get('ab', encode)])
  expect([...first]).toEqual([97, 98])
  expect(second).toBe(first)
  expect(await cache.get('ab', encode)).toBe(first)
  expect(encoded).toEqual(['ab'])
  expect(cache.stats).toEqual({ hits: 2, misses: 1, bytes: 2 * 2 + 100 + 2 * 4 })
})

test('the bound holds, and what was used last stays', async () => {
  const { encoded, encode } = counted()
  const entryBytes = 10 * 2 + 100 + 10 * 4
  const cache = new SegmentCache(3 * entryBytes)
  const texts = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(10))
  for (const text of texts.slice(0, 3)) await cache.get(text, encode)
  await cache.get('a'.repeat(10), encode)
  await cache.get('d'.repeat(10), encode)
  expect(cache.stats.bytes).toBe(3 * entryBytes)
  await cache.get('a'.repeat(10), encode)
  expect(encoded.filter((text) => text.startsWith('a'))).toHaveLength(1)
  await cache.get('b'.repeat(10), encode)
  expect(encoded.filter((text) => text.startsWith('b'))).toHaveLength(2)
})

test('a text that is larger than the bound is encoded and not kept', async () => {
  const { encode } = counted()
  const cache = new SegmentCache(200)
  expect((await cache.get('x'.repeat(100), encode)).length).toBe(100)
  expect(cache.stats.bytes).toBe(0)
})

test('a failed encoding is forgotten', async () => {
  const { encode } = counted()
  const cache = new SegmentCache(1000)
  await expect(cache.get('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(cache.stats.bytes).toBe(0)
  expect([...(await cache.get('a', encode))]).toEqual([97])
})
