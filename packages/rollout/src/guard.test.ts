import { describe, expect, test } from 'vitest'
import { guardTraining, type TrainingSettings } from './guard.ts'

const sound: TrainingSettings = {
  attemptsPerTask: 8,
  temperature: 0.7,
  topP: 1,
  topK: -1,
  minP: 0,
  frequencyPenalty: 0,
  presencePenalty: 0,
  repetitionPenalty: 1,
  sharedSeed: null,
}

describe('guardTraining', () => {
  test('lets a run through that can learn', () => {
    expect(() => guardTraining(sound)).not.toThrow()
  })

  test.each([
    [{ attemptsPerTask: 1 }, 'config_zero_gradient', /n = 1/],
    [{ temperature: 0 }, 'config_zero_gradient', /temperature 0/],
    [{ topK: 1 }, 'config_zero_gradient', /top_k 1/],
    [{ sharedSeed: 7 }, 'config_zero_gradient', /seed 7/],
    [{ topP: 0.95 }, 'config_off_policy', /top_p is 0.95, neutral is 1/],
    [{ topK: 20 }, 'config_off_policy', /top_k is 20/],
    [{ topK: 0 }, 'config_off_policy', /top_k is 0/],
    [{ minP: 0.1 }, 'config_off_policy', /min_p is 0.1/],
    [{ frequencyPenalty: 0.5 }, 'config_off_policy', /frequency_penalty/],
    [{ presencePenalty: -0.5 }, 'config_off_policy', /presence_penalty/],
    [{ repetitionPenalty: 1.1 }, 'config_off_policy', /repetition_penalty/],
  ] as const)('refuses %j with the reason', (change, code, message) => {
    expect(() => guardTraining({ ...sound, ...change })).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    )
  })

  test('names every reason at once, and the switch that overrides', () => {
    expect(() => guardTraining({ ...sound, topP: 0.9, minP: 0.1 })).toThrow(/top_p .* min_p .* --allow-off-policy/)
    expect(() => guardTraining({ ...sound, attemptsPerTask: 1, temperature: 0 })).toThrow(
      /n = 1.*temperature 0.*--allow-zero-gradient/,
    )
  })

  test('each override lifts its own refusal only', () => {
    const both = { ...sound, attemptsPerTask: 1, topP: 0.9 }
    expect(() => guardTraining(both, { allowZeroGradient: true })).toThrow(/top_p/)
    expect(() => guardTraining(both, { allowOffPolicy: true })).toThrow(/n = 1/)
    expect(() => guardTraining(both, { allowZeroGradient: true, allowOffPolicy: true })).not.toThrow()
  })
})
