import type { CallSink, Dialect, Reading } from '../dialect.ts'
import { needMore, type Source } from '../source.ts'

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
  const start = source.position
  let length = source.match(opener)
  for (; length === needMore; length = source.match(opener)) yield
  source.index += length
  let code = source.skipSpace()
  for (; code === needMore; code = source.skipSpace()) yield
  source.rewindTo(start)
  if (length === 0 || code !== 123) return yield* read()
  return yield* sibling.read(source, {
    ...sink,
    report: (reading, notes) =>
      sink.report(reading, { ...notes, repairs: ['cross_format', ...(notes?.repairs ?? [])] }),
  })
}
