import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { smallTokenizer } from '../../testing/small-tokenizer.ts'
import type { Tokenizer } from '../tokenizer.ts'

/** A hand-made template (see templates/README.md) with a small vocabulary that has its tokens. */
export interface TemplateShape {
  readonly chatTemplate: string
  readonly tokenizer: Tokenizer
  readonly stopTokenIds: readonly number[]
  readonly specialTokens: Readonly<Record<string, string>>
}

interface ShapeTokens {
  /** The first ones end a reply, as many as `stops` says. */
  readonly tokens: readonly string[]
  readonly stops: number
  readonly specialTokens?: Readonly<Record<string, string>>
}

const chatMl: ShapeTokens = {
  tokens: ['<|im_end|>', '<|endoftext|>', '<|im_start|>', '<think>', '</think>', '<tool_call>', '</tool_call>'],
  stops: 2,
}

const shapes: Readonly<Record<ShapeName, ShapeTokens>> = {
  'closed-turns': { ...chatMl, tokens: [...chatMl.tokens, '<tool_response>', '</tool_response>'] },
  'next-opens': {
    tokens: [
      ...['<|endoftext|>', '<|user|>', '<|observation|>', '<|assistant|>', '<|system|>', '[gMASK]', '<sop>', '<think>'],
      ...['</think>', '<tool_call>', '</tool_call>', '<arg_key>', '</arg_key>', '<arg_value>', '</arg_value>'],
    ],
    stops: 3,
  },
  channels: {
    tokens: ['<|return|>', '<|call|>', '<|start|>', '<|end|>', '<|message|>', '<|channel|>', '<|constrain|>'],
    stops: 2,
  },
  'joined-turns': {
    tokens: [
      ...['<｜end▁of▁sentence｜>', '<｜begin▁of▁sentence｜>', '<｜User｜>', '<｜Assistant｜>', '</think>'],
      ...['<｜tool▁calls▁begin｜>', '<｜tool▁calls▁end｜>', '<｜tool▁call▁begin｜>', '<｜tool▁call▁end｜>'],
      ...['<｜tool▁sep｜>', '<｜tool▁output▁begin｜>', '<｜tool▁output▁end｜>'],
    ],
    stops: 1,
    specialTokens: { bos_token: '<｜begin▁of▁sentence｜>' },
  },
  'tools-at-last-user': {
    tokens: [
      ...['</s>', '<s>', '[INST]', '[/INST]', '[SYSTEM_PROMPT]', '[/SYSTEM_PROMPT]', '[AVAILABLE_TOOLS]'],
      ...['[/AVAILABLE_TOOLS]', '[TOOL_CALLS]', '[CALL_ID]', '[ARGS]', '[TOOL_RESULTS]', '[TOOL_CONTENT]'],
      ...['[/TOOL_RESULTS]'],
    ],
    stops: 1,
    specialTokens: { bos_token: '<s>', eos_token: '</s>' },
  },
  'tools-at-first-user': {
    tokens: ['<|eot_id|>', '<|eom_id|>', '<|begin_of_text|>', '<|start_header_id|>', '<|end_header_id|>'],
    stops: 2,
    specialTokens: { bos_token: '<|begin_of_text|>' },
  },
  'open-reasoning': {
    tokens: ['[e~[', ']~!b[', ']~b]', '<think>', '</think>', '<minimax:tool_call>', '</minimax:tool_call>'],
    stops: 1,
  },
  'reasoning-of-calls': chatMl,
  'strict-system': chatMl,
  'numbered-calls': chatMl,
  'system-switch': chatMl,
  'spaced-end': chatMl,
  'plain-marks': { tokens: ['<|endoftext|>'], stops: 1 },
}

export type ShapeName = 'closed-turns' | 'next-opens' | 'channels' | 'joined-turns' | 'tools-at-last-user' | 'tools-at-first-user' | 'open-reasoning' | 'reasoning-of-calls' | 'strict-system' | 'numbered-calls' | 'system-switch' | 'spaced-end' | 'plain-marks'

export function loadShape(name: ShapeName): TemplateShape {
  const { tokens, stops, specialTokens = {} }: ShapeTokens = shapes[name]
  const tokenizer = smallTokenizer({ addedTokens: tokens })
  return {
    chatTemplate: readFileSync(fileURLToPath(new URL(`./templates/${name}.jinja`, import.meta.url)), 'utf8'),
    tokenizer,
    stopTokenIds: tokens.slice(0, stops).flatMap((token) => tokenizer.tokenToId(token) ?? []),
    specialTokens,
  }
}
