export {
  createRenderer,
  type RenderedPrompt,
  type RenderedSuffix,
  type Renderer,
  type RendererOptions,
  type RenderRequest,
  type SuffixRequest,
} from './renderer.ts'
export type { AddedToken, DecodeOptions, Tokenizer } from './tokenizer.ts'
