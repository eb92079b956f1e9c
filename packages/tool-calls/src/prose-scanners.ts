import type { WarningCode } from './codes.ts'
import type { Dialect, OpenerVerdict } from './dialect.ts'
import type { ReasoningTags } from './reasoning-formats.ts'
import { type FenceJudge, type Judge, type Marker, markersOf, TextScanner } from './text-scanner.ts'

/** How long the line may be that opens a code fence around calls. */
const maxFenceInfo = 128

/** What was read so far, as far as it decides what a marker in prose is. */
export interface ProseState {
  /** Nothing but white space and reasoning came so far. */
  readonly isBlank: boolean
  /** Nothing but white space came since the last call, or what meant to be one. */
  readonly isBehindCall: boolean
  /** Nothing but white space came since reasoning was closed. */
  readonly isSecondClose: boolean
  /** How many calls, and regions that meant to be one, were read. */
  readonly regionCount: number
  warn(code: WarningCode): void
}

interface ProseOptions {
  readonly state: ProseState
  /** False once no more calls are read. */
  readonly readsCalls: boolean
  readonly readsFences: boolean
}

/** Finds what may be more than prose outside of reasoning. */
export function proseScanner(
  dialect: Dialect,
  tags: ReasoningTags | null,
  { state, readsCalls, readsFences }: ProseOptions,
): TextScanner {
  const markers: Marker[] = [
    ...(readsCalls ? openersOf(dialect) : []),
    ...(tags === null
      ? []
      : [...markersOf('reasoning-open', [tags.open]), ...markersOf('reasoning-close', [tags.close])]),
    ...markersOf('end-token', dialect.endTokens),
    ...markersOf('closer', dialect.closers),
  ]
  /** How many regions there were at the last opener that starts a line; -1 without one. */
  let regionsAtOpener = -1
  const judge: Judge = ({ kind, text }, window, behind, from) => {
    if (kind === 'reasoning-close') return state.isSecondClose ? 'open' : 'prose'
    if (kind === 'opener') {
      const startsLine = scanner.fence === 0 && scanner.isLineStart(window, from, behind - text.length)
      regionsAtOpener = startsLine ? state.regionCount : -1
      return dialect.judgeOpener(text, window, behind)
    }
    if (kind !== 'closer' || state.isBehindCall) return 'open'
    if (regionsAtOpener === state.regionCount && scanner.fence === 0) state.warn('unread_tags')
    regionsAtOpener = -1
    return 'prose'
  }
  const scanner = new TextScanner(markers, judge, readsFences ? fenceJudge(dialect, state) : () => 'prose')
  return scanner
}

/** Finds where reasoning ends, and calls in it. */
export function reasoningScanner(dialect: Dialect, tags: ReasoningTags): TextScanner {
  const markers: Marker[] = [
    ...markersOf('reasoning-close', [tags.close]),
    ...openersOf(dialect),
    ...markersOf('end-token', dialect.endTokens),
  ]
  const judge: Judge = ({ kind, text }, window, behind) =>
    kind === 'opener' ? dialect.judgeOpener(text, window, behind) : 'open'
  return new TextScanner(markers, judge, () => 'prose')
}

function openersOf({ openers, lateOpener }: Dialect): Marker[] {
  const late: Marker[] = lateOpener ? [{ kind: 'opener', text: lateOpener.opener, late: lateOpener }] : []
  return [...markersOf('opener', openers), ...late]
}

/** Whether a code fence may start like a call: by the first characters of the line behind the one that opens it. */
function fenceJudge({ bare, openers }: Dialect, state: ProseState): FenceJudge {
  return (window, behind, isEnded): OpenerVerdict => {
    let index = window.indexOf('\n', behind)
    if (index > behind + maxFenceInfo) return 'prose'
    if (index < 0) return window.length - behind > maxFenceInfo || isEnded ? 'prose' : 'more'
    const start = index
    while (index - start < maxFenceInfo && window.charCodeAt(index) <= 32) index += 1
    if (index === window.length) return isEnded ? 'prose' : 'more'
    const first = window.charCodeAt(index)
    if (state.isBlank && bare?.mayStart(first)) return 'open'
    for (const opener of openers) {
      if (first !== opener.charCodeAt(0)) continue
      if (window.startsWith(opener, index)) return 'open'
      if (!isEnded && window.length - index < opener.length && opener.startsWith(window.slice(index))) return 'more'
    }
    return 'prose'
  }
}
