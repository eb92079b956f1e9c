export {
  type IllFormedCode,
  illFormedMeanings,
  type RepairCode,
  repairMeanings,
  type WarningCode,
  warningMeanings,
} from './codes.ts'
export { createStreamParser, type StreamParser } from './create-stream-parser.ts'
export {
  type EncodeOptions,
  encodeModelOutput,
  encodeToolCalls,
  type OutputToEncode,
  type ToolCallToEncode,
} from './encode-model-output.ts'
export type { ParseOptions } from './output-parser.ts'
export { parseModelOutput } from './parse-model-output.ts'
export type { CharSpan, IllFormedRegion, ParsedOutput, ParsedToolCall, ParseEvent } from './parsed-output.ts'
export {
  findReasoningFormat,
  type ReasoningFormatName,
  type ReasoningTags,
  reasoningFormats,
} from './reasoning-formats.ts'
export { type ToolCallFormatName, toolCallFormats } from './tool-call-formats.ts'
