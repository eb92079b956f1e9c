/**
 * Fields of a body that nothing reads although they say what the client wants:
 * a forced tool, a bias, a grammar. They are not served, and counted by name.
 */
export interface KnownFields {
  /** Those that the protocol reads. */
  readonly read: readonly string[]
  /** Those that are served whatever they say, by the values that say nothing more than their absence. */
  readonly neutral: Readonly<Record<string, (value: unknown) => boolean>>
}

/** Notes of clients to their vendor: they change no reply. */
const notes: ReadonlySet<string> = new Set([
  'betas',
  'client_metadata',
  'metadata',
  'prompt_cache_key',
  'prompt_cache_retention',
  'safety_identifier',
  'service_tier',
  'store',
  'user',
])

/** The names of a body's unread fields, in its order. */
export function unreadFields(body: unknown, { read, neutral }: KnownFields): readonly string[] {
  if (typeof body !== 'object' || body === null) return []
  return Object.entries(body).flatMap(([name, value]) => {
    const isNeutral = Object.hasOwn(neutral, name) ? neutral[name]?.(value) : read.includes(name) || notes.has(name)
    return isNeutral || saysNothing(value) ? [] : [name]
  })
}

/** Null, and what has no entries. */
function saysNothing(value: unknown): boolean {
  return value == null || (typeof value === 'object' && Object.keys(value).length === 0)
}
