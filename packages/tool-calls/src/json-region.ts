import { atEnd, needMore, type Source } from './source.ts'

/** The markers around JSON calls of a format. */
export interface RegionMarkers {
  /** End a call, and belong to it. */
  readonly closers: readonly string[]
  /** End what the call stands in, or start what follows it, and are left to be read. */
  readonly stops: readonly string[]
  /** Start another call. One inside an ill-formed call may be quoted. */
  readonly restarts: readonly string[]
  /** End the turn. */
  readonly endTokens: readonly string[]
}

/** Every marker that a call may end at. */
export function endMarkersOf(markers: RegionMarkers): readonly string[] {
  return [...markers.closers, ...markers.stops, ...markers.restarts, ...markers.endTokens]
}

type Step<Result> = Generator<undefined, Result, undefined>

/** Goes to the first of some markers, and gives it; empty, at the end, if there is none. */
export function* goToFirst(source: Source, markers: readonly string[]): Step<string> {
  const longest = markers.reduce((length, marker) => Math.max(length, marker.length), 1)
  for (;;) {
    let place = -1
    let first = ''
    for (const marker of markers) {
      const found = source.find(marker)
      if (found >= 0 && (place < 0 || found < place)) {
        place = found
        first = marker
      }
    }
    // Another marker may still start in front of the found one, but for its tail.
    const { window, index } = source
    if (place >= 0 && (source.isEnded || place <= window.length - longest)) {
      source.index = place
      return first
    }
    if (source.isEnded) {
      source.index = window.length
      return ''
    }
    source.index = Math.max(index, Math.min(place < 0 ? window.length : place, window.length - longest + 1))
    yield
  }
}

/**
 * Looks at how a call ends whose JSON `source` is behind, white space aside,
 * and goes behind its closer. `trailing`: other text stands before that.
 */
export function* readEnd(source: Source, markers: RegionMarkers): Step<'closed' | 'unclosed' | 'trailing'> {
  let code = source.skipSpace()
  for (; code === needMore; code = source.skipSpace()) yield
  if (code === atEnd) return 'unclosed'
  const endMarkers = endMarkersOf(markers)
  let length = source.matchAny(endMarkers)
  for (; length === needMore; length = source.matchAny(endMarkers)) yield
  if (length > 0) {
    const isCloser = markers.closers.includes(source.window.slice(source.index, source.index + length))
    if (isCloser) source.index += length
    return isCloser ? 'closed' : 'unclosed'
  }
  if (source.endsWithin(endMarkers)) source.index = source.window.length
  if (markers.closers.length === 0 || source.index === source.window.length) return 'unclosed'
  const textStart = source.position
  const found = yield* goToFirst(source, endMarkers)
  if (markers.closers.includes(found)) {
    source.index += found.length
    return 'trailing'
  }
  source.rewindTo(textStart)
  return 'unclosed'
}

/** Whether text follows that is none of the markers, white space aside. */
export function* isText(source: Source, markers: readonly string[]): Step<boolean> {
  let code = source.skipSpace()
  for (; code === needMore; code = source.skipSpace()) yield
  if (code === atEnd) return false
  let length = source.matchAny(markers)
  for (; length === needMore; length = source.matchAny(markers)) yield
  return length === 0
}

/** Goes behind white space and end-of-turn tokens. Whether nothing else follows. */
export function* isOver(source: Source, endTokens: readonly string[]): Step<boolean> {
  for (;;) {
    const code = source.skipSpace()
    if (code === atEnd) return true
    const length = code === needMore ? needMore : source.matchAny(endTokens)
    if (length === 0) return false
    if (length === needMore) yield
    else source.index += length
  }
}

/**
 * Goes behind an ill-formed call: to the first closer or stop from a place on,
 * or to the start of another call before it that follows a closing bracket.
 * A start elsewhere may be quoted, and what is quoted must not be called.
 */
export function* recover(source: Source, from: number, markers: RegionMarkers): Step<void> {
  source.rewindTo(from)
  const found = yield* goToFirst(source, [...markers.closers, ...markers.stops])
  if (markers.closers.includes(found)) source.index += found.length
  const region = source.captured()
  const regionStart = source.position - region.length
  let restart = -1
  for (const marker of markers.restarts) {
    const place = findRestart(region, marker, Math.max(from - regionStart, 1))
    if (place >= 0 && (restart < 0 || place < restart)) restart = place
  }
  if (restart >= 0) source.rewindTo(regionStart + restart)
}

function findRestart(region: string, marker: string, from: number): number {
  let place = region.indexOf(marker, from)
  while (place >= 0) {
    const before = region.slice(Math.max(place - 64, 0), place).trimEnd()
    if (before.endsWith('}') || before.endsWith(']')) return place
    place = region.indexOf(marker, place + 1)
  }
  return -1
}
