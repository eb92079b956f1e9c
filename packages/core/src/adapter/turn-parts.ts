import type { Clock, Engine, Logger } from '@agentrl/spec'
import type { ReasoningFormatName, ToolCallFormatName } from '@agentrl/tool-calls'
import type { Renderer } from '../render/renderer.ts'
import type { Tokenizer } from '../render/tokenizer.ts'
import type { ToolHeads } from './tool-heads.ts'

/** What every turn of an adapter works with. */
export interface TurnParts {
  readonly engine: Engine
  readonly tokenizer: Tokenizer
  readonly renderer: Renderer
  readonly toolHeads: ToolHeads
  readonly stopTokenIds: readonly number[]
  readonly toolCallFormat: ToolCallFormatName
  readonly reasoningFormat: ReasoningFormatName
  /** Calls made again after a retryable failure. */
  readonly engineRetries: number
  readonly clock: Clock
  readonly newId: () => string
  readonly logger: Logger
}
