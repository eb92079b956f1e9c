import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { TrajectoryError } from '@agentrl/spec'
import type { Tokenizer as RustTokenizer } from 'tokenizers'
import type { TokenizerEngine } from './assemble-tokenizer.ts'

/**
 * The Rust tokenizer in a thread of its own.
 *
 * The binding encodes off the event loop, but hands ids over as a JavaScript
 * array, made on the thread that asked: 0.1 s for the 583,000 ids of 1 MB of
 * letters. Splitting the text instead would need a proof, for each
 * pre-tokenizer, that the ids stay the same, and a word without a break has no
 * safe split. In a thread, the hand-over, the loading (1.5 s) and the release
 * of native memory block nobody, and the ids travel back as one moved buffer.
 *
 * The thread keeps the process alive only while a call is open.
 */

interface LoadOrder {
  readonly bindingPath: string
  readonly json: string
  readonly hiddenFromPlain: readonly string[]
}

type Call =
  | { readonly kind: 'encode' | 'encodePlain'; readonly text: string }
  | { readonly kind: 'decode'; readonly ids: Int32Array; readonly skipSpecialTokens: boolean }

interface Reply {
  /** Null: the word that loading has ended. */
  readonly callId: number | null
  readonly value?: Int32Array | string
  readonly error?: string
}

/**
 * The program of the thread. It is turned into text, so that it runs the same
 * from sources, from the built package and from a bundle: it must reach nothing
 * outside itself.
 */
function tokenizerThread(load: NodeRequire): void {
  const { parentPort, workerData } = load('node:worker_threads') as typeof import('node:worker_threads')
  if (parentPort === null) return
  const port = parentPort
  const order = workerData as LoadOrder

  const build = (): { full: RustTokenizer; plain: RustTokenizer } => {
    const { Tokenizer } = load(order.bindingPath) as typeof import('tokenizers')
    const parsed = JSON.parse(order.json)
    const isCut = parsed.truncation != null || parsed.padding != null
    parsed.truncation = null
    parsed.padding = null
    const full = Tokenizer.fromString(isCut ? JSON.stringify(parsed) : order.json)
    parsed.added_tokens = []
    for (const token of order.hiddenFromPlain) delete parsed.model.vocab[token]
    return { full, plain: Tokenizer.fromString(JSON.stringify(parsed)) }
  }

  const answer = async (tokenizers: ReturnType<typeof build>, call: Call): Promise<Int32Array | string> => {
    if (call.kind === 'decode') return tokenizers.full.decode(Array.from(call.ids), call.skipSpecialTokens)
    const tokenizer = call.kind === 'encode' ? tokenizers.full : tokenizers.plain
    const encoding = await tokenizer.encode(call.text, null, { addSpecialTokens: false })
    return Int32Array.from(encoding.getIds())
  }

  try {
    const tokenizers = build()
    port.on('message', ({ callId, call }: { callId: number; call: Call }) => {
      answer(tokenizers, call).then(
        (value) => port.postMessage({ callId, value }, typeof value === 'string' ? [] : [value.buffer as ArrayBuffer]),
        (error) => port.postMessage({ callId, error: String(error) }),
      )
    })
    port.postMessage({ callId: null })
  } catch (error) {
    port.postMessage({ callId: null, error: String(error) })
    port.close()
  }
}

interface Waiting {
  resolve(value: Int32Array | string | undefined): void
  reject(error: Error): void
}

/** Starts the thread and waits until both tokenizers are loaded. Throws `trajectory_tokenizer`. */
export async function startTokenizerWorker(options: {
  readonly json: string
  readonly hiddenFromPlain: readonly string[]
  /** Names the file in errors. */
  readonly where: string
}): Promise<TokenizerEngine> {
  const { json, hiddenFromPlain, where } = options
  const order: LoadOrder = { bindingPath: findBinding(), json, hiddenFromPlain }
  // Some compilers wrap functions in `__name(…)` to keep their names; here that means nothing.
  const source = `const __name = (value) => value;(${tokenizerThread.toString()})(require)`
  const worker = new Worker(source, { eval: true, workerData: order, resourceLimits: { maxYoungGenerationSizeMb: 4 } })

  const waiting = new Map<number | null, Waiting>()
  let lostBecause: Error | null = null
  const fail = (message: string, cause?: unknown): TrajectoryError =>
    new TrajectoryError('trajectory_tokenizer', `${where}: ${message}`, { cause, details: { where } })

  const settle = (callId: number | null, act: (call: Waiting) => void): void => {
    const call = waiting.get(callId)
    waiting.delete(callId)
    if (waiting.size === 0) worker.unref()
    if (call) act(call)
  }
  const open = (callId: number | null): Promise<Int32Array | string | undefined> =>
    new Promise((resolve, reject) => {
      if (lostBecause) return reject(lostBecause)
      waiting.set(callId, { resolve, reject })
      worker.ref()
    })
  const lose = (error: Error): void => {
    lostBecause ??= error
    for (const callId of [...waiting.keys()]) settle(callId, (call) => call.reject(error))
  }

  worker.on('message', ({ callId, value, error }: Reply) =>
    settle(callId, (call) =>
      error === undefined ? call.resolve(value) : call.reject(fail(`the tokenizer refused it: ${error}`)),
    ),
  )
  worker.on('error', (error) => lose(fail('the thread of the tokenizer failed. Load it again', error)))
  worker.on('exit', () => lose(fail('the thread of the tokenizer has ended. Load it again')))

  let calls = 0
  const send = (call: Call, moved: readonly ArrayBuffer[] = []): Promise<Int32Array | string | undefined> => {
    calls += 1
    const reply = open(calls)
    worker.postMessage({ callId: calls, call }, moved)
    return reply
  }
  await open(null)
  return {
    encode: async (text) => (await send({ kind: 'encode', text })) as Int32Array,
    encodePlain: async (text) => (await send({ kind: 'encodePlain', text })) as Int32Array,
    decode: async (ids, skipSpecialTokens) => {
      const copy = Int32Array.from(ids)
      return (await send({ kind: 'decode', ids: copy, skipSpecialTokens }, [copy.buffer])) as string
    },
  }
}

function findBinding(): string {
  try {
    return createRequire(import.meta.url).resolve('tokenizers')
  } catch (cause) {
    throw new TrajectoryError(
      'trajectory_tokenizer',
      'The package "tokenizers" is not installed. It is optional; install it with: npm install tokenizers@0.23.2',
      { cause },
    )
  }
}
