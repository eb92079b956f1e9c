import type { CallSink, Dialect, Reading } from '../dialect.ts'
import type { Source } from '../source.ts'
import { asCrossFormat, lookBehind } from './function-tags.ts'

/**
 * Reads what starts with an opener that two formats share: by the JSON sibling
 * where an object follows it, which models fall back to, and else as the
 * format has it.
 */
export function* readJsonInstead(
  source: Source,
  sink: CallSink,
  opener: string,
  sibling: Dialect,
  read: () => Reading,
): Reading {
  const code = yield* lookBehind(source, opener)
  return code === 123 ? yield* sibling.read(source, asCrossFormat(sink)) : yield* read()
}
