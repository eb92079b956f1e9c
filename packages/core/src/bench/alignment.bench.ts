import { writeFileSync } from 'node:fs'
import { loadTokenizerDirectory } from '../tokenizers/load-tokenizer-directory.ts'
import { createBenchAdapter } from './bench-adapter.bench.ts'
import { codingAgent, makeConversation } from './conversation.bench.ts'
import { measureLargeResult } from './large-result.bench.ts'
import { measureLinearize } from './linearize.bench.ts'
import { measureSessions } from './sessions.bench.ts'
import { measureTurnCosts } from './turn-cost.bench.ts'

/**
 * One measurement of `bench:alignment`, printed as JSON:
 *
 *     alignment.js conversation TOKENIZER_DIR FILE   writes what the peer works on
 *     alignment.js turns TOKENIZER_DIR ROUNDS
 *     alignment.js large TOKENIZER_DIR ROUNDS
 *     alignment.js sessions TOKENIZER_DIR SESSIONS TURNS
 *     alignment.js linearize TURNS NEW_TOKENS ROUNDS
 */
const [, , task = '', ...options] = process.argv
const numberAt = (index: number): number => Number(options[index])

async function measure(): Promise<unknown> {
  if (task === 'linearize') {
    return measureLinearize({ turns: numberAt(0), newTokens: numberAt(1), rounds: numberAt(2) })
  }
  const model = await loadTokenizerDirectory(options[0] ?? '')
  const conversation = makeConversation(codingAgent)
  switch (task) {
    case 'conversation': {
      const adapter = createBenchAdapter(model)
      const outputIds: number[][] = []
      for (const output of conversation.outputs) outputIds.push([...(await adapter.replyOf(output)).outputIds])
      writeFileSync(options[1] ?? '', JSON.stringify({ bodies: conversation.bodies, outputIds }))
      return { turns: conversation.bodies.length, lastBodyCharacters: conversation.bodies.at(-1)?.length }
    }
    case 'turns':
      return measureTurnCosts(createBenchAdapter(model), conversation, numberAt(1))
    case 'large':
      return measureLargeResult(createBenchAdapter(model), numberAt(1))
    case 'sessions': {
      const longHead = makeConversation({ ...codingAgent, turns: numberAt(2), systemCharacters: 90_000 })
      return measureSessions(model, longHead, numberAt(1))
    }
    default:
      throw new RangeError(`No measurement is called "${task}"`)
  }
}

process.stdout.write(`${JSON.stringify(await measure())}\n`, () => process.exit(0))
