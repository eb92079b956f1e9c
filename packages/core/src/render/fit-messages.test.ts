import type { Message } from '@agentrl/spec'
import { expect, test } from 'vitest'
import { loadShape, type ShapeName } from './__fixtures__/shapes.ts'
import { createRenderer } from './renderer.ts'

async function rendered(name: ShapeName, messages: readonly Message[]) {
  const { tokenizer, chatTemplate, stopTokenIds, specialTokens } = loadShape(name)
  const renderer = createRenderer({ tokenizer, chatTemplate, stopTokenIds, specialTokens })
  const prompt = await renderer.renderPrompt({ messages, tools: [] })
  return { text: await tokenizer.decode(prompt.ids), asUser: prompt.systemMessagesAsUser, images: prompt.imagesAsText }
}

const withReminder: readonly Message[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Look.' },
  { role: 'system', content: 'Mind the time.' },
]

test('a system message on which the template fails is read as a user message, and counted', async () => {
  const { text, asUser } = await rendered('strict-system', withReminder)
  expect(text).toContain('<|im_start|>system\nBe brief.<|im_end|>')
  expect(text).toContain('<|im_start|>user\nMind the time.<|im_end|>')
  expect(asUser).toBe(1)
})

test('a system message that the template leaves out is read as a user message, and counted', async () => {
  const { text, asUser } = await rendered('open-reasoning', withReminder)
  expect(text).toContain(']~b]user\nMind the time.[e~[')
  expect(asUser).toBe(1)
})

test('a system message that the template takes stays one', async () => {
  const { text, asUser } = await rendered('closed-turns', withReminder)
  expect(text).toContain('<|im_start|>system\nMind the time.<|im_end|>')
  expect(asUser).toBe(0)
})

const withImage: readonly Message[] = [
  {
    role: 'user',
    content: [
      { type: 'text', text: 'What is this?' },
      { type: 'image', url: 'data:image/png;base64,AAAA' },
    ],
  },
]

test.each(['closed-turns', 'open-reasoning', 'tools-at-last-user'] as const)(
  'an image is read as the word for one, with the text beside it, and counted: %s',
  async (name) => {
    const { text, images } = await rendered(name, withImage)
    expect(text).toContain('What is this?\n[image]')
    expect(text).not.toContain('AAAA')
    expect(images).toBe(1)
  },
)

const withCall = (id: string): readonly Message[] => [
  { role: 'user', content: 'Look.' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name: 'ls', arguments: '{}' } }],
  },
  { role: 'tool', content: 'a b', tool_call_id: id },
]

test('an id that the template refuses is shortened, for the call and for its result alike', async () => {
  const { text } = await rendered('tools-at-last-user', withCall('toolu_0123456789abcdef'))
  const [, called, returned] = /\[CALL_ID\](.*?)\[ARGS\].*\[TOOL_RESULTS\](.*?)\[TOOL_CONTENT\]/.exec(text) ?? []
  expect(called).toMatch(/^[A-Za-z0-9]{9}$/)
  expect(returned).toBe(called)
  expect((await rendered('tools-at-last-user', withCall('toolu_0123456789abcdee'))).text).not.toContain(called)
})

test('an id that the template takes stays', async () => {
  expect((await rendered('tools-at-last-user', withCall('Abc123xyZ'))).text).toContain('[CALL_ID]Abc123xyZ[ARGS]')
})
