import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { illFormedMeanings, repairMeanings, warningMeanings } from './codes.ts'
import { reasoningFormats } from './reasoning-formats.ts'
import { toolCallFormats } from './tool-call-formats.ts'

const page = readFileSync(new URL('../../../docs/tool-calls.md', import.meta.url), 'utf8')

test('docs/tool-calls.md names every code', () => {
  const codes = Object.keys({ ...repairMeanings, ...illFormedMeanings, ...warningMeanings })
  expect(codes.filter((code) => !page.includes(`\`${code}\``))).toEqual([])
})

test('docs/tool-calls.md names every format of calls, aliases included', () => {
  expect(toolCallFormats.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  expect(reasoningFormats.filter((name) => page.includes(`\`${name}\``)).length).toBeGreaterThan(5)
})
