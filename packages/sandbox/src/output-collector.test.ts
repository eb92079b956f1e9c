import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createOutputCollector } from './output-collector.ts'

const streams = fc.array(fc.uint8Array({ maxLength: 20 }))

test('head keeps the first bytes and counts the rest, however the stream is cut', () => {
  fc.assert(
    fc.property(streams, fc.integer({ min: 0, max: 60 }), (chunks, maxBytes) => {
      const collector = createOutputCollector(maxBytes, 'head')
      for (const chunk of chunks) collector.push(chunk)
      const all = Buffer.concat(chunks)
      expect(Buffer.from(collector.bytes())).toEqual(all.subarray(0, maxBytes))
      expect(collector.omittedBytes()).toBe(Math.max(0, all.length - maxBytes))
    }),
  )
})

test('tail keeps the last bytes and counts the rest, however the stream is cut', () => {
  fc.assert(
    fc.property(streams, fc.integer({ min: 1, max: 60 }), (chunks, maxBytes) => {
      const collector = createOutputCollector(maxBytes, 'tail')
      for (const chunk of chunks) collector.push(chunk)
      const all = Buffer.concat(chunks)
      expect(Buffer.from(collector.bytes())).toEqual(all.subarray(Math.max(0, all.length - maxBytes)))
      expect(collector.omittedBytes()).toBe(Math.max(0, all.length - maxBytes))
    }),
  )
})

test('push says when the cap is passed, and not when it is met', () => {
  const collector = createOutputCollector(4, 'head')
  expect(collector.push(Buffer.from('ab'))).toBe(false)
  expect(collector.push(Buffer.from('cd'))).toBe(false)
  expect(collector.push(Buffer.from('e'))).toBe(true)
})

test('a closed collector takes nothing more', () => {
  const collector = createOutputCollector(4, 'tail')
  collector.push(Buffer.from('ab'))
  collector.close()
  expect(collector.push(Buffer.from('cdefgh'))).toBe(false)
  expect(Buffer.from(collector.bytes()).toString()).toBe('ab')
})
