import { readFileSync } from 'node:fs'
import { seededRandom } from '@agentrl/spec'
import type { BenchAdapter } from './bench-adapter.bench.ts'
import { median } from './median.bench.ts'

/** One turn whose new message is a tool result of 1 MB in which no word ends. */
export interface LargeResultCost {
  readonly newTokens: number
  readonly wallMs: number
  /** Of all threads. */
  readonly cpuMs: number
  /** The longest time that the main thread computed without letting go. */
  readonly gapMs: number
}

const call = '<tool_call>\n{"name": "read", "arguments": {"path": "bundle.js"}}\n</tool_call>'

export async function measureLargeResult(adapter: BenchAdapter, rounds: number): Promise<LargeResultCost> {
  const random = seededRandom(11)
  const costs: Omit<LargeResultCost, 'gapMs'>[] = []
  const gaps: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    // Another text each time: nothing of it is in a cache.
    const letters = (): string =>
      Array.from({ length: 1_048_576 }, () => String.fromCharCode(97 + Math.floor(random() * 26))).join('')
    costs.push(await measureCost(adapter, letters()))
    gaps.push(await measureGap(adapter, letters()))
  }
  const of = (pick: (cost: (typeof costs)[number]) => number): number => median(costs.map(pick))
  return {
    newTokens: of((cost) => cost.newTokens),
    wallMs: of((cost) => cost.wallMs),
    cpuMs: of((cost) => cost.cpuMs),
    gapMs: Math.max(...gaps),
  }
}

async function measureCost(adapter: BenchAdapter, letters: string): Promise<Omit<LargeResultCost, 'gapMs'>> {
  const turn = await prepareTurn(adapter, letters)
  const start = performance.now()
  const before = process.cpuUsage()
  const newTokens = await turn()
  const { user, system } = process.cpuUsage(before)
  return { newTokens, wallMs: performance.now() - start, cpuMs: (user + system) / 1000 }
}

/** Apart from the cost, because to watch costs too. */
async function measureGap(adapter: BenchAdapter, letters: string): Promise<number> {
  const turn = await prepareTurn(adapter, letters)
  const watch = watchGaps()
  await turn()
  return watch.stop()
}

/** A session whose next turn has the letters as its tool result. The turn returns its new tokens. */
async function prepareTurn(adapter: BenchAdapter, letters: string): Promise<() => Promise<number>> {
  const tools = [{ type: 'function', function: { name: 'read', parameters: { type: 'object', properties: {} } } }]
  const asked = [{ role: 'user', content: 'Read the bundle.' }]
  const argumentsText = '{"path": "bundle.js"}'
  const called = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'read', arguments: argumentsText } }],
  }
  const session = adapter.openSession()
  await adapter.turn(session, { model: 'm', messages: asked, tools }, await adapter.replyOf(call))
  const before = adapter.promptTokens
  const messages = [...asked, called, { role: 'tool', tool_call_id: 'a', content: letters }]
  const text = JSON.stringify({ model: 'm', tools, messages })
  const reply = await adapter.replyOf('Done.')
  return async () => {
    await adapter.turn(session, JSON.parse(text), reply)
    return adapter.promptTokens - before
  }
}

/** Milliseconds that the main thread has computed, from Linux: a busy machine does not count. */
function computedMs(): number {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
}

function watchGaps(): { stop(): Promise<number> } {
  let longest = 0
  let last = computedMs()
  let isRunning = true
  const tick = (): void => {
    const now = computedMs()
    longest = Math.max(longest, now - last)
    last = now
    if (isRunning) setImmediate(tick)
  }
  setImmediate(tick)
  return {
    async stop() {
      await new Promise((resolve) => setImmediate(resolve))
      isRunning = false
      return longest
    },
  }
}
