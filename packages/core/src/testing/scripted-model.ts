import { seededRandom, type TokenIds } from '@agentrl/spec'
import type { Tokenizer } from '../render/tokenizer.ts'
import { type SampledTurn, sampleScriptedTurn } from './sample-scripted-turn.ts'
import type { ScriptedPlayer, TurnEncoder } from './scripted-turn.ts'
import { seededHash } from './seeded-hash.ts'

/**
 * From prompt ids to the ids of the next answer: reads the prompt as a player
 * wants it, and samples the turn that the player chose.
 */

export interface ScriptedModelOptions {
  readonly tokenizer: Tokenizer
  readonly player: ScriptedPlayer
  readonly seed: number
  readonly nonCanonicalRate: number
  readonly encodeTurn: TurnEncoder
  readonly assistantMarker: string
}

interface ScriptedModelRequest {
  readonly conversationId: string
  readonly inputIds: TokenIds
  readonly temperature: number
  readonly maxNewTokens: number
  readonly stopTokenIds: readonly number[]
  /** Leaves out the end-of-turn token, so that only `stopTokenIds` end an answer. */
  readonly ignoresEndOfTurn: boolean
}

export type ScriptedModel = (request: ScriptedModelRequest) => Promise<SampledTurn>

export async function createScriptedModel(options: ScriptedModelOptions): Promise<ScriptedModel> {
  const { tokenizer, player, seed, nonCanonicalRate, encodeTurn, assistantMarker } = options
  const markerIds = await tokenizer.encode(assistantMarker)
  const endOfTurnId = (await tokenizer.encode(encodeTurn({}))).at(-1)
  if (endOfTurnId === undefined) throw new RangeError('encodeTurn must end every turn in an end-of-turn token')

  return async (request) => {
    const { conversationId, inputIds, temperature, maxNewTokens } = request
    const markers = findAll(markerIds, inputIds)
    // The last marker is the generation prompt. Found in the ids, so that text which looks like one is none.
    const turnIndex = Math.max(0, markers.length - 1)
    const turn = player({
      promptText: await tokenizer.decode(inputIds),
      headText: await tokenizer.decode(inputIds.slice(0, markers[0])),
      turnIndex,
      conversationId,
      temperature,
      random: seededRandom(seededHash(seed, conversationId, turnIndex)),
    })
    return sampleScriptedTurn(turn, {
      tokenizer,
      encodeTurn,
      seedKey: `${seed}/${turn.seedKey ?? `${conversationId}/${turnIndex}`}`,
      nonCanonicalRate,
      maxNewTokens,
      stopTokenIds: new Set([...request.stopTokenIds, ...(request.ignoresEndOfTurn ? [] : [endOfTurnId])]),
    })
  }
}

/** Where `part` begins in `ids`. */
function findAll(part: TokenIds, ids: TokenIds): readonly number[] {
  const starts: number[] = []
  for (let start = ids.indexOf(part[0] ?? -1); start >= 0; start = ids.indexOf(part[0] ?? -1, start + 1)) {
    if (part.every((id, index) => ids[start + index] === id)) starts.push(start)
  }
  return starts
}
