import { ValueError } from '@agentrl/spec'
import type { Dialect } from './dialect.ts'
import { deepseekV3, deepseekV31 } from './dialects/deepseek-v3.ts'
import { deepseekV32 } from './dialects/deepseek-v32.ts'
import { glm45, glm47 } from './dialects/glm.ts'
import { glm40414 } from './dialects/glm4-0414.ts'
import { gptOss } from './dialects/gpt-oss.ts'
import { hermes } from './dialects/hermes.ts'
import { kimiK2 } from './dialects/kimi-k2.ts'
import { llama3Json } from './dialects/llama3-json.ts'
import { minimaxM2 } from './dialects/minimax-m2.ts'
import { mistral, mistralPre11 } from './dialects/mistral.ts'
import { pythonic } from './dialects/pythonic.ts'
import { qwen3Coder } from './dialects/qwen3-coder.ts'
import { step3 } from './dialects/step3.ts'
import type { ReasoningFormatName } from './reasoning-formats.ts'

/** What is known of a wire format. */
export interface ToolCallFormat {
  readonly dialect: Dialect
  /** How models of this format write reasoning, unless told otherwise. */
  readonly reasoning: ReasoningFormatName
}

type CanonicalName =
  | 'hermes'
  | 'qwen3_coder'
  | 'glm45'
  | 'glm47'
  | 'glm4_0414'
  | 'kimi_k2'
  | 'deepseek_v3'
  | 'deepseek_v31'
  | 'deepseek_v32'
  | 'llama3_json'
  | 'pythonic'
  | 'mistral'
  | 'mistral_pre11'
  | 'minimax_m2'
  | 'gpt_oss'
  | 'step3'

type Alias =
  | 'qwen'
  | 'qwen25'
  | 'qwen3_xml'
  | 'mimo'
  | 'step3p5'
  | 'glm'
  | 'deepseekv3'
  | 'deepseekv31'
  | 'deepseekv32'
  | 'deepseek_v4'
  | 'deepseekv4'
  | 'llama3'
  | 'llama4_json'
  | 'llama4_pythonic'
  | 'minimax-m2'
  | 'gpt-oss'
  | 'openai'

const formats: Readonly<Record<CanonicalName, ToolCallFormat>> = {
  hermes: { dialect: hermes, reasoning: 'qwen3' },
  qwen3_coder: { dialect: qwen3Coder, reasoning: 'qwen3' },
  glm45: { dialect: glm45, reasoning: 'glm45' },
  glm47: { dialect: glm47, reasoning: 'glm45' },
  glm4_0414: { dialect: glm40414, reasoning: 'qwen3' },
  kimi_k2: { dialect: kimiK2, reasoning: 'kimi_k2' },
  deepseek_v3: { dialect: deepseekV3, reasoning: 'deepseek-r1' },
  deepseek_v31: { dialect: deepseekV31, reasoning: 'deepseek-r1' },
  deepseek_v32: { dialect: deepseekV32, reasoning: 'deepseek-r1' },
  llama3_json: { dialect: llama3Json, reasoning: 'qwen3' },
  pythonic: { dialect: pythonic, reasoning: 'qwen3' },
  mistral: { dialect: mistral, reasoning: 'mistral' },
  mistral_pre11: { dialect: mistralPre11, reasoning: 'mistral' },
  minimax_m2: { dialect: minimaxM2, reasoning: 'minimax' },
  gpt_oss: { dialect: gptOss, reasoning: 'gpt-oss' },
  step3: { dialect: step3, reasoning: 'qwen3' },
}

const aliases: Readonly<Record<Alias, CanonicalName>> = {
  qwen: 'hermes',
  qwen25: 'hermes',
  qwen3_xml: 'qwen3_coder',
  mimo: 'qwen3_coder',
  step3p5: 'qwen3_coder',
  glm: 'glm45',
  deepseekv3: 'deepseek_v3',
  deepseekv31: 'deepseek_v31',
  deepseekv32: 'deepseek_v32',
  deepseek_v4: 'deepseek_v32',
  deepseekv4: 'deepseek_v32',
  llama3: 'llama3_json',
  llama4_json: 'llama3_json',
  llama4_pythonic: 'pythonic',
  'minimax-m2': 'minimax_m2',
  'gpt-oss': 'gpt_oss',
  openai: 'gpt_oss',
}

/** A name of a wire format, as SGLang's or vLLM's `--tool-call-parser` spells it. */
export type ToolCallFormatName = CanonicalName | Alias

/** Every name that `format` accepts, aliases included. */
export const toolCallFormats: readonly ToolCallFormatName[] = [
  ...(Object.keys(formats) as CanonicalName[]),
  ...(Object.keys(aliases) as Alias[]),
]

/** The format of a name. Throws `value_invalid` for an unknown one, and lists those that are known. */
export function findToolCallFormat(name: string): ToolCallFormat & { readonly name: CanonicalName } {
  const canonical = Object.hasOwn(aliases, name) ? aliases[name as Alias] : name
  if (!Object.hasOwn(formats, canonical)) {
    const known = toolCallFormats.join(', ')
    throw new ValueError('value_invalid', `No tool-call format is called "${name}"; known are ${known}`, {
      details: { name },
    })
  }
  const key = canonical as CanonicalName
  return { name: key, ...formats[key] }
}
