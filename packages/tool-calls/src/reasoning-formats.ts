import { ValueError } from '@agentrl/spec'

/** The texts around reasoning. */
export interface ReasoningTags {
  readonly open: string
  readonly close: string
}

const think: ReasoningTags = { open: '<think>', close: '</think>' }

type CanonicalName = 'qwen3' | 'deepseek-r1' | 'kimi' | 'kimi_k2' | 'glm45' | 'gpt-oss' | 'mistral' | 'minimax' | 'none'

type Alias =
  | 'qwen3-thinking'
  | 'mimo'
  | 'step3'
  | 'step3p5'
  | 'deepseek_r1'
  | 'deepseek-v3'
  | 'deepseek_v3'
  | 'glm47'
  | 'openai_gptoss'
  | 'minimax_m2'
  | 'minimax-append-think'
  | 'minimax_m2_append_think'

/** `null`: the output has no tags around reasoning; in gpt-oss the channels say what it is. */
const formats: Readonly<Record<CanonicalName, ReasoningTags | null>> = {
  qwen3: think,
  'deepseek-r1': think,
  kimi: { open: '◁think▷', close: '◁/think▷' },
  kimi_k2: think,
  glm45: think,
  'gpt-oss': null,
  mistral: { open: '[THINK]', close: '[/THINK]' },
  minimax: think,
  none: null,
}

const aliases: Readonly<Record<Alias, CanonicalName>> = {
  'qwen3-thinking': 'qwen3',
  mimo: 'qwen3',
  step3: 'qwen3',
  step3p5: 'qwen3',
  deepseek_r1: 'deepseek-r1',
  'deepseek-v3': 'deepseek-r1',
  deepseek_v3: 'deepseek-r1',
  glm47: 'glm45',
  openai_gptoss: 'gpt-oss',
  minimax_m2: 'minimax',
  'minimax-append-think': 'minimax',
  minimax_m2_append_think: 'minimax',
}

/** A name of a reasoning format, as SGLang's or vLLM's `--reasoning-parser` spells it, or `none`. */
export type ReasoningFormatName = CanonicalName | Alias

/** Every name that `reasoning` accepts, aliases included. */
export const reasoningFormats: readonly ReasoningFormatName[] = [
  ...(Object.keys(formats) as CanonicalName[]),
  ...(Object.keys(aliases) as Alias[]),
]

/** The format of a name. Throws `value_invalid` for an unknown one, and lists those that are known. */
export function findReasoningFormat(name: string): {
  readonly name: CanonicalName
  readonly tags: ReasoningTags | null
} {
  const canonical = Object.hasOwn(aliases, name) ? aliases[name as Alias] : name
  if (!Object.hasOwn(formats, canonical)) {
    const known = reasoningFormats.join(', ')
    throw new ValueError('value_invalid', `No reasoning format is called "${name}"; known are ${known}`, {
      details: { name },
    })
  }
  const key = canonical as CanonicalName
  return { name: key, tags: formats[key] }
}
