import { ConfigError } from '@agentrl/spec'

/** The settings of a training run that decide whether it can learn at all. */
export interface TrainingSettings {
  readonly attemptsPerTask: number
  readonly temperature: number
  readonly topP: number
  readonly topK: number
  readonly minP: number
  readonly frequencyPenalty: number
  readonly presencePenalty: number
  readonly repetitionPenalty: number
  /** A seed that every attempt of a group would sample with; null for none. */
  readonly sharedSeed: number | null
}

export interface GuardOptions {
  /** Let runs through whose groups could not differ. */
  readonly allowZeroGradient?: boolean
  /** Let runs through that sample from another distribution than the trained one. */
  readonly allowOffPolicy?: boolean
}

/**
 * Refuses a training run that would waste its money, with every reason at once.
 * GRPO compares the attempts of a group: one attempt, or attempts that can't
 * differ, give advantage 0 everywhere. A truncated or penalized distribution is
 * not the one whose log-probabilities the trainer recomputes.
 * Throws `config_zero_gradient`, `config_off_policy`.
 */
export function guardTraining(settings: TrainingSettings, options: GuardOptions = {}): void {
  const zeroGradient = zeroGradientReasons(settings)
  if (zeroGradient.length > 0 && options.allowZeroGradient !== true) {
    throw new ConfigError(
      'config_zero_gradient',
      `This run could not produce a gradient: ${zeroGradient.join('; ')}. Change it, or pass --allow-zero-gradient`,
    )
  }
  const offPolicy = offPolicyReasons(settings)
  if (offPolicy.length > 0 && options.allowOffPolicy !== true) {
    throw new ConfigError(
      'config_off_policy',
      `This run would not sample from the policy that is trained: ${offPolicy.join('; ')}. ` +
        'Set them to neutral, or pass --allow-off-policy',
    )
  }
}

function zeroGradientReasons(settings: TrainingSettings): string[] {
  const reasons: string[] = []
  if (settings.attemptsPerTask < 2) reasons.push(`n = ${settings.attemptsPerTask}, and a group of one has no baseline`)
  if (settings.temperature === 0) reasons.push('temperature 0 makes all attempts of a group equal')
  if (settings.topK === 1) reasons.push('top_k 1 makes all attempts of a group equal')
  if (settings.sharedSeed !== null) {
    reasons.push(`seed ${settings.sharedSeed} is shared by the attempts of a group, which makes them equal`)
  }
  return reasons
}

function offPolicyReasons(settings: TrainingSettings): string[] {
  const neutral: readonly [string, number, number][] = [
    ['top_p', settings.topP, 1],
    ['min_p', settings.minP, 0],
    ['frequency_penalty', settings.frequencyPenalty, 0],
    ['presence_penalty', settings.presencePenalty, 0],
    ['repetition_penalty', settings.repetitionPenalty, 1],
  ]
  const reasons = neutral.flatMap(([name, value, off]) =>
    value === off ? [] : [`${name} is ${value}, neutral is ${off}`],
  )
  // 1 is named as a zero gradient already; engines disagree on what 0 means.
  if (settings.topK !== -1 && settings.topK !== 1) reasons.push(`top_k is ${settings.topK}, neutral is -1`)
  return reasons
}
