import { expect, test } from 'vitest'
import { loadShape, type ShapeName } from './__fixtures__/shapes.ts'
import { type CertifyOptions, certifyTemplate, type TemplateCertificate } from './certify-template.ts'

async function certify(name: ShapeName, options: Partial<CertifyOptions> = {}) {
  return certifyTemplate({ ...loadShape(name), ...options })
}

/** The shapes of conversation with a verdict. */
function withVerdict({ cases }: TemplateCertificate, verdict: string): readonly string[] {
  return cases.filter((found) => found.verdict === verdict).map(({ shape }) => shape)
}

test('a template that closes its turns is exact, and what it rewrites is kept', async () => {
  const certificate = await certify('closed-turns')
  expect(certificate.isExact).toBe(true)
  expect(withVerdict(certificate, 'kept')).toEqual([
    'user after reasoning',
    'user after two rounds',
    'user after two rounds and a plain text',
  ])
  expect(withVerdict(certificate, 'exact')).toHaveLength(certificate.cases.length - 3)
})

test('with historyReasoning "template" what it rewrites is followed', async () => {
  const certificate = await certify('closed-turns', { historyReasoning: 'template' })
  expect(certificate.isExact).toBe(true)
  expect(withVerdict(certificate, 'followed')).toEqual(expect.arrayContaining(['user', 'user after two rounds']))
  expect(withVerdict(certificate, 'exact')).toEqual(expect.arrayContaining(['tool result after two rounds']))
  expect(withVerdict(certificate, 'kept')).toEqual([])
})

test('a template that shows the reasoning of calls only is followed behind a text, inherited behind a call', async () => {
  const certificate = await certify('reasoning-of-calls', { historyReasoning: 'template' })
  expect(certificate.isExact).toBe(true)
  expect(withVerdict(certificate, 'exact')).toEqual([
    ...['tool result', 'tool result after reasoning', 'tool result after two rounds', 'parallel calls'],
    ...['tool result and user', 'tool result and system', 'user instead of a result'],
  ])
  expect(withVerdict(certificate, 'followed')).toEqual(
    expect.arrayContaining(['user after reasoning', 'user after two rounds', 'user after two rounds and a plain text']),
  )
})

test('what the template rewrites is shown decoded, with the place', async () => {
  const { cases } = await certify('closed-turns')
  const found = cases.find(({ shape }) => shape === 'user after reasoning')
  expect(found?.difference).toMatchObject({
    expected: expect.stringContaining('<|im_start|>assistant\nNothing is left'),
    found: expect.stringMatching(/<\|im_start\|>assistant\n$/),
  })
  expect(found?.difference?.tokenStart).toBeGreaterThan(100)
})

test.each<[ShapeName, readonly string[]]>([
  ['next-opens', []],
  ['channels', ['tool result and system', 'system in mid-list']],
  ['open-reasoning', []],
  ['numbered-calls', []],
  ['system-switch', []],
  ['spaced-end', []],
  ['strict-system', ['system in mid-list']],
])('the shape %s is exact, and says what is written otherwise', async (name, asUser) => {
  const certificate = await certify(name)
  expect(certificate.isExact).toBe(true)
  const notes = certificate.cases.filter(({ verdict, reason }) => verdict === 'exact' && reason !== null)
  expect(notes.map(({ shape }) => shape)).toEqual(asUser)
})

test('templates that move messages or tools are followed there, and exact elsewhere', async () => {
  const joined = await certify('joined-turns')
  expect(withVerdict(joined, 'followed')).toEqual(['tool result and system', 'system in mid-list'])
  const tools = await certify('tools-at-last-user')
  expect(withVerdict(tools, 'followed')).toContain('user')
  expect(withVerdict(tools, 'exact')).toContain('tool result after two rounds')
  expect([joined.isExact, tools.isExact]).toEqual([true, true])
})

test('what a template refuses is no fault of inheritance, and is said in its words', async () => {
  const { cases, isExact } = await certify('tools-at-first-user')
  expect(isExact).toBe(true)
  expect(cases.find(({ shape }) => shape === 'parallel calls')).toMatchObject({
    verdict: 'not_applicable',
    reason: expect.stringContaining('One call at a time'),
  })
})

test('a template whose calls have no end that can be told is not exact', async () => {
  const certificate = await certify('plain-marks')
  expect(certificate.isExact).toBe(false)
  expect(withVerdict(certificate, 'not_inherited')).toContain('tool result')
  expect(withVerdict(certificate, 'exact')).toContain('user')
})

test('a template that writes by how much was said before is found out', async () => {
  const { chatTemplate } = loadShape('closed-turns')
  const lengthy = chatTemplate.replace(
    "{{- '\\n<tool_response>\\n'",
    "{{- '\\n<tool_response>\\n' if messages | map(attribute='content') | join | length < 110 else '\\n<again>\\n' }}{{- ''",
  )
  const certificate = await certify('closed-turns', { chatTemplate: lengthy })
  expect(certificate.isExact).toBe(false)
  const found = certificate.cases.find(({ verdict }) => verdict === 'different')
  expect(found?.difference?.expected).toContain('<again>')
  expect(found?.difference?.found).toContain('<tool_response>')
})

test('without the stop token that history has, the end of a call can not be told', async () => {
  const { tokenizer } = loadShape('closed-turns')
  const stopTokenIds = [tokenizer.tokenToId('<|endoftext|>') as number]
  const certificate = await certify('closed-turns', { stopTokenIds })
  expect(certificate.isExact).toBe(false)
  expect(withVerdict(certificate, 'not_inherited')).toContain('tool result')
})

test('a template with an error can not be certified', async () => {
  await expect(certify('closed-turns', { chatTemplate: '{% if %}' })).rejects.toMatchObject({
    code: 'trajectory_template',
  })
})
