export { float32Text } from './float32-text.ts'
export { type SlimeRow, slimeLine, slimePlaceholderLine } from './slime.ts'
