import type { Message } from '@agentrl/spec'
import { beforeEach, describe, expect, test } from 'vitest'
import type { BranchPolicies } from '../alignment/branch-policy.ts'
import { reconcile } from '../alignment/ledger.ts'
import { smallTokenizer } from '../testing/small-tokenizer.ts'
import { trainedPairsProblem } from '../testing/trained-pairs-problem.ts'
import { createReplayAdapter, type RecordedEngine } from './recordings/replay-recording.ts'
import type { Adapter } from './server.ts'
import type { Session } from './session.ts'
import type { SessionOptions } from './session-options.ts'

/**
 * Promises about the branches of a session: whatever a client does with its
 * conversation, a reply trains once or is in a bucket that says why not.
 */
const tokenizer = smallTokenizer()
const bash = { type: 'function', function: { name: 'bash', parameters: { type: 'object', properties: {} } } }
const system: Message = { role: 'system', content: 'You are an agent.' }
const user = (content: string): Message => ({ role: 'user', content })

let adapter: Adapter
let engine: RecordedEngine
let session: Session

function open(options: SessionOptions = {}): void {
  const replay = createReplayAdapter(tokenizer)
  adapter = replay.adapter
  engine = replay.engine
  session = adapter.sessions.open(options)
}

interface AskOptions {
  readonly says?: string
  readonly reasoning?: string
  readonly tools?: readonly object[]
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Sends messages, lets the engine sample `says`, and gives the reply as a client puts it into its history. */
async function ask(messages: readonly Message[], options: AskOptions = {}): Promise<Message> {
  const { says = 'ok', reasoning = '', tools = [bash], headers = {}, signal = null } = options
  engine.nextReply = { reasoning, text: says, calls: [] }
  const response = await adapter.fetch(
    new Request('http://adapter/v1/chat/completions', {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${session.id}` },
      body: JSON.stringify({ model: 'm', messages, tools }),
      signal,
    }),
  )
  expect(response.status).toBe(200)
  const body = (await response.json()) as { readonly choices: readonly [{ readonly message: Message }] }
  return body.choices[0].message
}

function outcome() {
  const { samples, ledger } = session.linearize({ reward: 1 })
  const drifts = Object.entries(session.counters.toJSON()).filter(([code]) => code.startsWith('drift.'))
  return {
    samples,
    buckets: Object.fromEntries(Object.entries(reconcile(ledger).buckets).filter(([, tokens]) => tokens > 0)),
    repeats: ledger.contextRepeatPositions,
    drifts: Object.fromEntries(drifts),
  }
}

const outputTokens = (...indices: readonly number[]): number =>
  indices.reduce((total, index) => total + (engine.sampled[index]?.outputIds.length ?? 0), 0)

beforeEach(() => open())

describe('a request that comes again', () => {
  test('after its reply was lost on the way gets the same reply, and nothing is sampled', async () => {
    const gone = new AbortController()
    const first = await ask([system, user('go')], { says: 'the one', signal: gone.signal })
    gone.abort()
    expect(outcome().buckets).toEqual({ disconnected: outputTokens(0) })

    const again = await ask([system, user('go')], { says: 'another' })
    expect(again).toEqual(first)
    expect(engine.sampled).toHaveLength(1)
    await ask([system, user('go'), again, user('and?')])
    expect(outcome()).toMatchObject({ buckets: { trained: outputTokens(0, 1) }, drifts: {} })
    expect(outcome().samples).toHaveLength(1)
    expect(session.counters.toJSON()).toMatchObject({ resend_replayed: 1 })
  })

  test('is lost again, and is replayed again', async () => {
    const messages = [system, user('go')]
    for (const controller of [new AbortController(), new AbortController()]) {
      await ask(messages, { signal: controller.signal })
      controller.abort()
    }
    expect(outcome().buckets).toEqual({ disconnected: outputTokens(0) })
    await ask(messages)
    expect(engine.sampled).toHaveLength(1)
    expect(outcome().buckets).toEqual({ trained: outputTokens(0) })
  })

  test('after its reply was rejected is sampled again: both replies train, what they share once', async () => {
    const first = await ask([system, user('go')], { says: 'one' })
    const messages = [system, user('go'), first, user('and?')]
    await ask(messages, { says: '' })
    const second = await ask(messages, { says: 'yes' })
    await ask([...messages, second, user('bye')])
    const { samples, buckets, drifts } = outcome()
    expect(samples).toHaveLength(2)
    expect(buckets).toEqual({ trained: outputTokens(0, 1, 2, 3) })
    expect(drifts).toEqual({ 'drift.resend': 1 })
    expect(trainedPairsProblem(samples, engine.sampled)).toBeNull()
  })

  test('of two replies that read the same the client goes on from the later one', async () => {
    const messages = [system, user('go')]
    const says = 'the same command, and then another command, and the same assistant'
    await ask(messages, { says })
    const reply = await ask(messages, { says })
    await ask([...messages, reply, user('and?')])
    const [first, second, third] = engine.sampled
    expect(first?.outputIds).not.toEqual(second?.outputIds)
    const inherited = [...(second?.promptIds ?? []), ...(second?.outputIds ?? [])]
    expect([...(third?.promptIds.slice(0, inherited.length) ?? [])]).toEqual(inherited)
  })

  test('a reply that seemed lost, and from which the client goes on, had arrived', async () => {
    const gone = new AbortController()
    const reply = await ask([system, user('go')], { signal: gone.signal })
    gone.abort()
    await ask([system, user('go'), reply, user('and?')])
    expect(outcome().buckets).toEqual({ trained: outputTokens(0, 1) })
    await ask([system, user('go')])
    expect(engine.sampled).toHaveLength(3)
    expect(session.counters.toJSON()).toMatchObject({ lost_reply_arrived: 1 })
  })

  test('a reply that was lost, and that the client never asks for again, is disconnected', async () => {
    const gone = new AbortController()
    await ask([system, user('go')], { signal: gone.signal })
    gone.abort()
    await ask([system, user('something else')])
    expect(outcome().buckets).toEqual({ disconnected: outputTokens(0), trained: outputTokens(1) })
  })
})

describe('a conversation that forks', () => {
  test('interleaved conversations of one session are a sample each', async () => {
    const left = await ask([system, user('left')], { says: 'l' })
    const right = await ask([system, user('right, and something else altogether')], { says: 'r' })
    await ask([system, user('left'), left, user('on')])
    await ask([system, user('right, and something else altogether'), right, user('on')])
    const { samples, buckets, repeats } = outcome()
    expect(samples).toHaveLength(2)
    expect(buckets).toEqual({ trained: outputTokens(0, 1, 2, 3) })
    expect(repeats).toBe(0)
  })

  test('children of one turn, one after the other: the turn trains once and is context for the rest', async () => {
    const first = await ask([system, user('go')], { says: 'plan' })
    for (const child of ['a', 'b', 'c']) await ask([system, user('go'), first, user(child)], { says: `${child} done` })
    const { samples, buckets, repeats, drifts } = outcome()
    expect(samples).toHaveLength(3)
    expect(buckets).toEqual({ trained: outputTokens(0, 1, 2, 3) })
    expect(repeats).toBe(2 * outputTokens(0))
    expect(drifts).toEqual({ 'drift.edited_history': 2 })
    expect(trainedPairsProblem(samples, engine.sampled)).toBeNull()
  })

  test('parallel children fork without waiting for each other', async () => {
    const first = await ask([system, user('go')], { says: 'plan' })
    await Promise.all(['a', 'b', 'c'].map((child) => ask([system, user('go'), first, user(child)])))
    expect(outcome().samples).toHaveLength(3)
    expect(outcome().buckets).toEqual({ trained: outputTokens(0, 1, 2, 3) })
  })

  test('a client that edits what came before keeps the turns before the edit', async () => {
    const first = await ask([system, user('go')], { says: 'one' })
    const second = await ask([system, user('go'), first, user('two?')], { says: 'two' })
    await ask([system, user('go'), first, user('not two?'), second, user('three?')], { says: 'three' })
    const { samples, buckets, drifts } = outcome()
    expect(samples).toHaveLength(2)
    expect(buckets).toEqual({ trained: outputTokens(0, 1, 2) })
    expect(drifts).toEqual({ 'drift.edited_history': 1 })
    expect(session.drifts).toEqual([
      { cause: 'edited_history', where: 'messages[3].content', held: 'two?', found: 'not two?' },
    ])
  })

  test('other tools are another conversation, and the list that changed is shown', async () => {
    const first = await ask([system, user('go')])
    const edit = { ...bash, function: { ...bash.function, name: 'edit' } }
    await ask([system, user('go'), first, user('on')], { tools: [bash, edit] })
    expect(outcome().drifts).toEqual({ 'drift.tool_list_changed': 1 })
    expect(session.drifts[0]?.found).toContain('edit')
  })
})

describe('the role of a request', () => {
  test.each([
    ['x-claude-code-agent-id', 'a1'],
    ['x-agent-purpose', 'subagent:general-purpose'],
    ['x-parent-session-id', 's1'],
  ])('%s marks a sub-agent', async (name, value) => {
    await ask([system, user('go')])
    const reply = await ask([system, user('sub')], { headers: { [name]: value } })
    await ask([system, user('sub'), reply, user('on')], { headers: { [name]: value } })
    expect(outcome().drifts).toEqual({ 'drift.sub_agent': 1 })
  })

  test('another system prompt with other tools marks one too, and it stays one', async () => {
    open({ branchPolicies: { sub_agent: 'context' } })
    await ask([system, user('go')])
    const other: Message = { role: 'system', content: 'Somebody else: look for files and report what you found.' }
    const edit = { ...bash, function: { ...bash.function, name: 'edit' } }
    const reply = await ask([other, user('sub')], { tools: [edit] })
    await ask([other, user('sub'), reply, user('on')], { tools: [edit] })
    expect(outcome()).toMatchObject({
      buckets: { trained: outputTokens(0), branch_policy: outputTokens(1, 2) },
      drifts: { 'drift.sub_agent': 1 },
    })
  })

  test('a request without tools beside the task is auxiliary, before the task as well as after it', async () => {
    open({ branchPolicies: { auxiliary: 'drop' } })
    await ask([{ role: 'system', content: 'Write a title.' }, user('go')], { tools: [] })
    await ask([system, user('go')])
    await ask([{ role: 'system', content: 'Is this a new topic?' }, user('go')], { tools: [] })
    expect(outcome()).toMatchObject({
      buckets: { trained: outputTokens(1), branch_policy: outputTokens(0, 2) },
      drifts: { 'drift.auxiliary': 2 },
    })
  })

  test('an agent that never offers tools is the main conversation', async () => {
    open({ branchPolicies: { auxiliary: 'drop' } })
    const reply = await ask([system, user('go')], { tools: [] })
    await ask([system, user('go'), reply, user('on')], { tools: [] })
    expect(outcome()).toMatchObject({ buckets: { trained: outputTokens(0, 1) }, drifts: {} })
  })

  test('a request without tools that holds the history is a summary, and what goes on from it is named', async () => {
    open({ branchPolicies: { compaction: 'context' } })
    const first = await ask([system, user('go')], { says: 'I changed a.py so that it adds two numbers.' })
    const summary = 'The file a.py was changed so that it adds two numbers; nothing is left to do.'
    await ask([system, user('go'), first, user('Summarize.')], { tools: [], says: summary })
    await ask([system, user(`This session is being continued from a previous conversation.\n${summary}`)])
    expect(outcome()).toMatchObject({
      buckets: { trained: outputTokens(0, 2), branch_policy: outputTokens(1) },
      drifts: { 'drift.compaction': 2 },
    })
  })

  test.each([
    [{ main: 'off' }, /main: off/],
    [{ tool: 'train' }, /tool: train/],
  ])('the policy %j is refused', (branchPolicies, message) => {
    expect(() => open({ branchPolicies: branchPolicies as Partial<BranchPolicies> })).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(message) }),
    )
  })
})

test("Claude Code's billing note is in no prompt: another hash in it is no other conversation", async () => {
  const send = async (hash: string, messages: readonly object[]) => {
    engine.nextReply = { reasoning: '', text: 'ok', calls: [] }
    const note = {
      type: 'text',
      text: `x-anthropic-billing-header: cc_version=2.1.332.${hash}; cc_entrypoint=sdk-cli;`,
    }
    const body = { model: 'm', system: [note, { type: 'text', text: 'You are an agent.' }], messages }
    const headers = { 'x-api-key': session.id }
    await adapter.fetch(
      new Request('http://adapter/v1/messages', { method: 'POST', headers, body: JSON.stringify(body) }),
    )
  }
  const start = { role: 'user', content: 'go' }
  await send('8ff', [start])
  await send('123', [start, { role: 'assistant', content: 'ok' }, { role: 'user', content: 'on' }])
  const text = await tokenizer.decode(engine.sampled[1]?.promptIds ?? new Int32Array())
  expect(text).toContain('<|im_start|>system\nYou are an agent.<|im_end|>')
  expect(text).not.toContain('billing')
  expect(outcome()).toMatchObject({ buckets: { trained: outputTokens(0, 1) }, drifts: {} })
  expect(outcome().samples).toHaveLength(1)
  expect(session.counters.toJSON()).toMatchObject({ 'field_dropped.system.x-anthropic-billing-header': 2 })
})

test('replies that broke their format are left out where the session says so', async () => {
  open({ illFormedTurns: 'context' })
  const reply = await ask([system, user('go')], { says: 'now <tool_call>\n{"name": \n</tool_call>' })
  await ask([system, user('go'), reply, user('on')])
  expect(outcome().buckets).toEqual({ ill_formed_policy: outputTokens(0), trained: outputTokens(1) })
  expect(outcome().samples).toHaveLength(1)
})

/** The call lacks a bracket, and an end tag follows too many. */
const repairable = '<tool_call>\n{"name": "bash", "arguments": {}\n</tool_call>\n</tool_call>'

test('repairs of a reply are counted by their code, those around calls as well', async () => {
  expect(await ask([system, user('go')], { says: repairable })).toMatchObject({
    tool_calls: [{ function: { name: 'bash', arguments: '{}' } }],
  })
  expect(session.counters.toJSON()).toMatchObject({
    'tool_call_repaired.missing_bracket': 1,
    'tool_call_repaired.extra_end_tag': 1,
  })
})

test('calls that do not fit their schema, and tags that hold no call, are counted', async () => {
  const parameters = { type: 'object', properties: { command: { type: 'string' } } }
  await ask([system, user('go')], {
    tools: [{ ...bash, function: { ...bash.function, parameters } }],
    says: '<tool_call>\nls -la\n</tool_call>\n<tool_call>\n{"name": "bash", "arguments": {"command": [1]}}\n</tool_call>',
  })
  expect(session.counters.toJSON()).toMatchObject({ 'tool_call_warning.unread_tags': 1, tool_call_schema_error: 1 })
})

test('a session without repairs says what they would have been', async () => {
  open({ mode: 'eval', toolCallRepair: 'off' })
  const reply = await ask([system, user('go')], { says: repairable })
  expect(reply).not.toHaveProperty('tool_calls')
  expect(session.counters.toJSON()).toMatchObject({ 'tool_call_ill_formed.missing_bracket': 1 })
  expect(Object.keys(session.counters.toJSON()).filter((code) => code.startsWith('tool_call_repaired'))).toEqual([])
})

test('a reply that broke its format stays left out when it is lost and sent again', async () => {
  open({ illFormedTurns: 'context' })
  const gone = new AbortController()
  await ask([system, user('go')], { says: '<tool_call>\n{"name": \n</tool_call>', signal: gone.signal })
  gone.abort()
  await ask([system, user('go')])
  expect(engine.sampled).toHaveLength(1)
  expect(outcome().buckets).toEqual({ ill_formed_policy: outputTokens(0) })
})

test('a reply that the client begins itself is a turn of its own, and is counted', async () => {
  await ask([system, user('go'), { role: 'assistant', content: '{' }])
  expect(session.counters.toJSON()).toMatchObject({ assistant_prefill: 1 })
  expect(outcome().buckets).toEqual({ trained: outputTokens(0) })
})

test('a call of a tool that was not offered reaches the client, and is flagged', async () => {
  const reply = await ask([system, user('go')], {
    says: 'a\n<tool_call>\n{"name": "nothing", "arguments": {"x": 1.0}}\n</tool_call>\n<tool_call>\n{"name": "bash", "arguments": {}}\n</tool_call>',
  })
  expect(reply).toMatchObject({
    content: 'a',
    tool_calls: [{ function: { name: 'nothing', arguments: '{"x": 1.0}' } }, { function: { name: 'bash' } }],
  })
  expect(session.counters.toJSON()).toMatchObject({ 'tool_call_ill_formed.unknown_tool': 1 })
  expect(outcome().samples[0]?.metadata.ill_formed).toBe(true)
})
