export {
  type CertifiedCase,
  type CertifyOptions,
  certifyTemplate,
  type ShapeVerdict,
  type TemplateCertificate,
  type TokenDifference,
} from './certify-template.ts'
export type { ChatTemplate, RenderedText, RenderOptions, TemplateVariables } from './chat-template.ts'
export { compileChatTemplate, renderChatTemplate } from './chat-template.ts'
export type { RenderedSegment, RenderedTextSplitter, SplitText } from './control-tokens.ts'
export { createRenderedTextSplitter, splitRendered } from './control-tokens.ts'
export type { LosslessJsonOptions } from './lossless-json.ts'
export { parseLosslessJson } from './lossless-json.ts'
export {
  createRenderer,
  type RenderedPrompt,
  type RenderedSuffix,
  type Renderer,
  type RendererOptions,
  type RenderRequest,
  type SuffixRequest,
} from './renderer.ts'
export type { SegmentCacheStats } from './segment-cache.ts'
export type { ConversionOptions, TemplateMessages, TemplateValue } from './template-values.ts'
export { templateMember, templateMessages, templateTools, toTemplateValue } from './template-values.ts'
export type { AddedToken, DecodeOptions, Tokenizer } from './tokenizer.ts'
