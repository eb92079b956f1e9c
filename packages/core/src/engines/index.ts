export { connectSglang, type SglangEngine, type SglangOptions } from './sglang.ts'
