export { fromTransformers, type TransformersTokenizer } from './from-transformers.ts'
