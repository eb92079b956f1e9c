import { describe, expect, test } from 'vitest'
import { Counters } from '../../counters.ts'
import { readMessagesRequest } from './anthropic-messages/read-request.ts'
import { readChatRequest } from './openai-chat/read-request.ts'

/** Nothing that a client asks for is left out without a word. */
const chat = (fields: object) =>
  readChatRequest({ model: 'm', messages: [{ role: 'user', content: 'go' }], ...fields }).droppedFields
const messages = (fields: object) =>
  readMessagesRequest({ model: 'm', messages: [{ role: 'user', content: 'go' }], ...fields }).droppedFields

describe('a field that is not served is named', () => {
  test.each([
    [{ logit_bias: { 5: 100 } }, ['logit_bias']],
    [{ tool_choice: 'required' }, ['tool_choice']],
    [{ tool_choice: { type: 'function', function: { name: 'x' } } }, ['tool_choice']],
    [{ parallel_tool_calls: false }, ['parallel_tool_calls']],
    [{ response_format: { type: 'json_object' } }, ['response_format']],
    [{ logprobs: true, top_logprobs: 2 }, ['logprobs', 'top_logprobs']],
    [{ guided_regex: 'a+', min_tokens: 3 }, ['guided_regex', 'min_tokens']],
    [{ tools: [{ type: 'web_search' }] }, ['tools.web_search']],
  ])('Chat: %j', (fields, names) => {
    expect(chat(fields)).toEqual(names)
  })

  test.each([
    [{ tool_choice: { type: 'any' } }, ['tool_choice']],
    [{ tool_choice: { type: 'auto', disable_parallel_tool_use: true } }, ['tool_choice']],
    [{ output_config: { effort: 'high' } }, ['output_config']],
    [{ mcp_servers: [{ name: 'x' }] }, ['mcp_servers']],
  ])('Messages: %j', (fields, names) => {
    expect(messages(fields)).toEqual(names)
  })

  test('a result that is marked as an error: its text says so to a model, the mark does not', () => {
    const result = { type: 'tool_result', tool_use_id: 'a', content: 'no such file' }
    const dropped = (isError: boolean) =>
      messages({ messages: [{ role: 'user', content: [{ ...result, is_error: isError }] }] })
    expect([dropped(true), dropped(false)]).toEqual([['tool_result.is_error'], []])
  })

  test('what asks for nothing is not named', () => {
    const quiet = { metadata: { user_id: 'x' }, store: false, tool_choice: 'auto', logit_bias: {}, audio: null }
    expect(chat({ ...quiet, parallel_tool_calls: true, logprobs: false, response_format: { type: 'text' } })).toEqual(
      [],
    )
    expect(messages({ metadata: { user_id: 'x' }, tool_choice: { type: 'auto' }, temperature: 1 })).toEqual([])
  })
})

test('a block that no model can be shown there is named, in a tool result too', () => {
  const dropped = messages({
    messages: [
      { role: 'user', content: [{ type: 'document', source: {} }] },
      { role: 'assistant', content: [{ type: 'redacted_thinking', data: 'x' }] },
      { role: 'assistant', content: [{ type: 'image', source: { url: 'http://x' } }] },
      { role: 'user', content: [{ type: 'tool_use', id: 'a', name: 'n', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'search_result' }] }] },
    ],
  })
  expect(dropped).toEqual([
    'block.document',
    'block.redacted_thinking',
    'block.image',
    'block.tool_use',
    'tool_result.search_result',
  ])
})

test('names of outside are kept short, plain and few', () => {
  const counters = new Counters()
  for (let index = 0; index < 1000; index += 1) counters.addNamed('field', `a\n${index} ${'x'.repeat(1000)}`)
  counters.addNamed('other_group', 'name')
  const counts = counters.toJSON()
  expect(Object.keys(counts)).toHaveLength(66)
  expect(Object.keys(counts).every((code) => /^[\w.:-]{1,80}$/.test(code))).toBe(true)
  expect(counts).toMatchObject({ 'field.other': 936, 'other_group.name': 1 })
})
