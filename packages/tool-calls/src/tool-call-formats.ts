import { ValueError } from '@agentrl/spec'
import type { Dialect } from './dialect.ts'
import { hermes } from './dialects/hermes.ts'
import type { ReasoningFormatName } from './reasoning-formats.ts'

/** What is known of a wire format. */
export interface ToolCallFormat {
  readonly dialect: Dialect
  /** How models of this format write reasoning, unless told otherwise. */
  readonly reasoning: ReasoningFormatName
}

type CanonicalName = 'hermes'

type Alias = 'qwen' | 'qwen25'

const formats: Readonly<Record<CanonicalName, ToolCallFormat>> = {
  hermes: { dialect: hermes, reasoning: 'qwen3' },
}

const aliases: Readonly<Record<Alias, CanonicalName>> = {
  qwen: 'hermes',
  qwen25: 'hermes',
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
