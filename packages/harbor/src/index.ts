export { type ConvertDatasetOptions, convertHarborDataset, type HarborConversion } from './convert-harbor-dataset.ts'
export { type ConvertOptions, convertHarborTask } from './convert-harbor-task.ts'
export { digestDirectory } from './digest-directory.ts'
export { buildEvalCommand, readEvalOutput } from './eval-command.ts'
export type {
  EnvTemplates,
  HarborArtifact,
  HarborCollect,
  HarborConfig,
  HarborEnvironment,
  HarborHealthcheck,
  HarborMcpServer,
  HarborTask,
  HarborUser,
  NetworkPolicy,
} from './harbor-task.ts'
export { instructionText } from './instruction-text.ts'
export { type DockerfileCopy, type DockerfileSummary, parseDockerfile } from './parse-dockerfile.ts'
export type { HarborMetadata, NetworkMetadata, PromptRow, PromptRowMetadata } from './prompt-row.ts'
export { type HarborReward, readHarborReward } from './read-harbor-reward.ts'
export { readHarborTask } from './read-harbor-task.ts'
export { type LiftableReason, type RefusalReason, refusalMeanings } from './refusals.ts'
export { resolveEnvTemplates } from './resolve-env.ts'
