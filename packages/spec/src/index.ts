export { type Clock, type Random, seededRandom, systemClock } from './clock.ts'
export type { Engine, EngineOptions, EngineReply, EngineRequest, SamplingParams } from './engine.ts'
export {
  AgentRlError,
  type AgentRlErrorOptions,
  ConfigError,
  EngineError,
  type ErrorBoundary,
  type ErrorCode,
  errorCodes,
  excerpt,
  HarnessError,
  isAgentRlError,
  SandboxError,
  TaskError,
  TrajectoryError,
  ValueError,
  WireError,
} from './errors.ts'
export {
  type GroupId,
  groupId,
  type RolloutId,
  rolloutId,
  type SampleId,
  type SandboxId,
  type SessionId,
  sampleId,
  sandboxId,
  sessionId,
  type TaskId,
  taskId,
} from './ids.ts'
export type { JsonObject, JsonValue } from './json.ts'
export { type Bucket, bucketMeanings, buckets, type Ledger } from './ledger.ts'
export { type LogFields, type Logger, silentLogger } from './logger.ts'
export type {
  AssistantMessage,
  ContentPart,
  InputMessage,
  Message,
  MessageToolCall,
  ToolDefinition,
  ToolMessage,
} from './message.ts'
export type { Sample, SampleMetadata, SampleStatus } from './sample.ts'
export type { Logprobs, TokenIds, TokenMask } from './tokens.ts'
export type { FinishReason, RoutedExperts, SamplingRecord, Turn, WeightSpan } from './turn.ts'
export { unreachable } from './unreachable.ts'
