export type { AddedToken, DecodeOptions, Tokenizer } from './tokenizer.ts'
