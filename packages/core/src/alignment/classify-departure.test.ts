import type { AssistantMessage, Message } from '@agentrl/spec'
import { describe, expect, test } from 'vitest'
import { classifyDeparture, echoDifference } from './classify-departure.ts'
import { driftCauses } from './drift-causes.ts'

/** Each cause on a conversation small enough to see why, and the near misses beside it. */
const system = (content: string): Message => ({ role: 'system', content })
const user = (content: string): Message => ({ role: 'user', content })
const tool = (content: string): Message => ({ role: 'tool', content })
const says = (content: string | null, rest: Partial<AssistantMessage> = {}): AssistantMessage => ({
  role: 'assistant',
  content,
  ...rest,
})
const calls = (name: string, args: string, rest: Partial<AssistantMessage> = {}): AssistantMessage =>
  says('I look.', { tool_calls: [{ id: 'c', type: 'function', function: { name, arguments: args } }], ...rest })

const preamble = 'You are a coding agent. Today is 2026-11-29. Work in /repo and be brief about it.'
const reply = calls('read', '{"path": "a.py"}', { reasoning_content: 'I need the file.' })
const held: readonly Message[] = [system(preamble), user('Fix the bug.'), reply, tool('a = 1'), says('Done.')]
const start = held.slice(0, 2)

function causeOf(request: readonly Message[], heads: { held?: string; request?: string } = {}, from = held) {
  return classifyDeparture(
    { head: heads.held ?? 'tools', messages: from },
    { head: heads.request ?? 'tools', messages: request },
  )
}

describe('what a request does that does not go on', () => {
  test.each<[string, readonly Message[]]>([
    ['the conversation and more', [...held, user('Thanks.')]],
    [
      'the reply under another id and in other spelling',
      [...start, calls('read', '{"path":"a.py"}'), tool('a = 1'), says(' Done. ')],
    ],
  ])('%s is no departure', (_name, request) => {
    expect(causeOf(request)).toBeNull()
  })

  test.each<[keyof typeof driftCauses, string, readonly Message[]]>([
    [
      'renamed_call',
      'messages[2].tool_calls[0].function.name',
      [...start, calls('invalid', '{"path": "a.py"}'), tool('x')],
    ],
    ['dropped_field', 'messages[2].tool_calls', [...start, says('I look.'), user('next')]],
    ['dropped_field', 'messages[2].content', [...start, { ...reply, content: null }, tool('a = 1')]],
    [
      'edited_history',
      'messages[2].tool_calls[0].function.arguments',
      [...start, calls('read', '{"path": "b.py"}'), tool('x')],
    ],
    ['edited_history', 'messages[2].content', [...start, { ...reply, content: 'I looked.' }, tool('a = 1')]],
    ['edited_history', 'messages[3].content', [...start, reply, tool('a = 2'), says('Done.')]],
    ['edited_history', 'messages[2]', start],
    ['edited_history', 'messages[1].content', [system(preamble), user('Write a poem about the sea.')]],
    ['dropped_reply', 'messages[2]', [...start, user('Go on.')]],
    ['cache_buster', 'messages[0].content', [system(preamble.replace('29', '30')), ...held.slice(1)]],
    ['cache_buster', 'messages[1].content', [system(preamble), user('Fix the bug!'), reply, tool('a = 1')]],
    ['edited_history', 'messages[0].content', [system('You write titles.'), ...held.slice(1)]],
    ['moved_system_message', 'messages[2]', [...start, system('Remember to test.'), ...held.slice(2)]],
    [
      'compaction',
      'messages[1].content',
      [system(preamble), user('This session is being continued from a previous conversation that ran out of context.')],
    ],
  ])('%s, seen at %s', (cause, where, request) => {
    expect(causeOf(request)).toMatchObject({ cause, where })
  })

  test('a system message that is gone, or stands elsewhere, was moved', () => {
    const reminded = [...held.slice(0, 4), system('Remember to test.'), says('Done.')]
    const gone = causeOf(held, {}, reminded)
    const later = causeOf([...held.slice(0, 4), user('Go on.'), system('Remember to test.')], {}, reminded)
    expect([gone?.cause, later?.cause]).toEqual(['moved_system_message', 'moved_system_message'])
  })

  test('other tools before the same messages are a changed list, and the first difference is shown', () => {
    expect(causeOf(held, { held: '[read, write]', request: '[read, edit]' })).toEqual({
      cause: 'tool_list_changed',
      where: 'head',
      held: '[read, write]',
      found: '[read, edit]',
    })
  })

  test('an empty reply is dropped, although the message before it was rewritten', () => {
    const rewritten = [system(preamble), user('Fix the bug.\n[Your previous response had no visible output.]')]
    const afterEmpty = causeOf(rewritten, {}, [...start, says(null, { reasoning_content: 'Hm.' })])
    const afterText = causeOf(rewritten, {}, [...start, says('Which bug?')])
    expect([afterEmpty?.cause, afterText?.cause]).toEqual(['dropped_reply', 'edited_history'])
  })

  test('a reply that stands inside the first message of a shorter conversation was a summary', () => {
    const summary = 'The task is to fix the bug in a.py; the cause was found and the file has been changed.'
    const request = [system(preamble), user(`Here is where we are:\n${summary}\nGo on.`)]
    expect(causeOf(request, {}, [...held, user('Summarize.'), says(summary)])?.cause).toBe('compaction')
    expect(causeOf(request, {}, held)?.cause).toBe('edited_history')
  })

  test('long texts are cut around their first difference', () => {
    const long = 'x'.repeat(500)
    const found = causeOf([system(preamble), user(`${long}B${long}`)], {}, [
      system(preamble),
      user(`${long}A${long}`),
      reply,
    ])
    expect(found?.held).toBe(`…${'x'.repeat(20)}A${'x'.repeat(59)}…`)
    expect(found?.found).toBe(`…${'x'.repeat(20)}B${'x'.repeat(59)}…`)
  })
})

describe('what a client changes in a reply that it sends back', () => {
  test.each<[string | undefined, AssistantMessage]>([
    ['arguments_reserialized', calls('read', '{"path":"a.py"}', { reasoning_content: 'I need the file.' })],
    ['dropped_field', calls('read', '{"path": "a.py"}')],
    [
      undefined,
      {
        ...reply,
        tool_calls: [{ id: 'other', type: 'function', function: { name: 'read', arguments: '{"path": "a.py"}' } }],
      },
    ],
    [undefined, { ...reply, reasoning_content: 'I need the file.\n\n' }],
  ])('is %s', (cause, echo) => {
    expect(echoDifference(reply, echo, 'messages[2]')?.cause).toBe(cause)
  })
})

test('every cause says what it means and what to do', () => {
  const incomplete = Object.entries(driftCauses).filter(
    ([, { meaning, hint }]) => !/^.{20}/.test(meaning) || !/[.]$/.test(hint),
  )
  expect(incomplete).toEqual([])
})
