export { encodeHermesTurn } from './encode-hermes-turn.ts'
export type { SentFinishReason } from './generate-reply.ts'
export type { RecordedCall } from './scripted-calls.ts'
export {
  type ScriptedEngine,
  type ScriptedEngineOptions,
  scriptedModelName,
  startScriptedEngine,
} from './scripted-engine.ts'
export type { HeldCall, ScriptedFault } from './scripted-fault.ts'
export type {
  CallDamage,
  ScriptedContext,
  ScriptedPlayer,
  ScriptedToolCall,
  ScriptedTurn,
  TurnEncoder,
} from './scripted-turn.ts'
export { type SmallTokenizerOptions, smallTokenizer } from './small-tokenizer.ts'
export { type NonCanonicalSplit, splitNonCanonically } from './split-non-canonically.ts'
export type { ToolAction } from './tool-dialect.ts'
export { trainedPairsProblem } from './trained-pairs-problem.ts'
export {
  createWeightedPlayer,
  type ScriptedPlay,
  type ScriptStep,
  type TaskScripts,
  type WeightedPlayer,
  type WeightedScript,
} from './weighted-player.ts'
