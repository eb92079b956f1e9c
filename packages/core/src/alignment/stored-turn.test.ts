import type { Turn } from '@agentrl/spec'
import { expect, test } from 'vitest'
import { StoredTurn } from './stored-turn.ts'

const turn = (promptIds: readonly number[], outputIds: readonly number[]): Turn => ({
  promptIds: Int32Array.from(promptIds),
  outputIds: Int32Array.from(outputIds),
  outputLogprobs: null,
  finishReason: 'stop',
  illFormed: false,
})

test('a prompt is given from any position on, whichever turn keeps it', () => {
  const first = new StoredTurn(turn([1, 2, 3], [4, 5]), null)
  const second = new StoredTurn(turn([1, 2, 3, 4, 5, 6, 7, 8], [9]), first)
  expect(second.sharedTokens).toBe(5)
  for (let position = 0; position <= 8; position += 1) {
    expect([...second.promptFrom(position)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8].slice(position))
  }
})
