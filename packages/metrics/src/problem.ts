/**
 * Something that a number can't say and a caller must not miss. Problems are
 * results, not exceptions: a batch with one is still measured, and the caller
 * logs the problem at its severity.
 */
export interface Problem {
  /** Stable, snake_case. */
  readonly code: string
  readonly severity: 'warning' | 'error'
  /** For people: what was expected, what was met, and what to change. */
  readonly message: string
  /** Plain data for a program to read. */
  readonly details: Readonly<Record<string, unknown>>
}
