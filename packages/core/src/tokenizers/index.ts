export { fromTokenizerJson, loadTokenizer } from './load-tokenizer.ts'
export { type LoadedTokenizer, loadTokenizerDirectory } from './load-tokenizer-directory.ts'
