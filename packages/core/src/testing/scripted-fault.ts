/** What can go wrong at an engine, for tests. Each is good for one call of `/generate`. */
export type ScriptedFault =
  /** An HTTP error status with SGLang's error body. Default 500. */
  | { readonly kind: 'http-error'; readonly status?: number }
  /** Ids, but no `output_token_logprobs`. */
  | { readonly kind: 'missing-logprobs' }
  /** One log-probability fewer than ids. */
  | { readonly kind: 'wrong-length' }
  /** The engine gives up: HTTP 200, finish reason `abort`, and the first `keptTokens` ids. Default: half of them. */
  | { readonly kind: 'abort'; readonly keptTokens?: number }
  /** The connection is cut before the answer, or within it. */
  | { readonly kind: 'connection-drop'; readonly when: 'before-reply' | 'within-reply' }
  /** Only the first half of the answer's text, as if it were whole. */
  | { readonly kind: 'malformed-json' }

/** A call that waits. */
export interface HeldCall {
  /** Settles when a call has come that this hold applies to. */
  readonly arrived: Promise<void>
  /** Lets the call go on. Doing it before the call comes is fine. */
  release(): void
  /** Settles when the call has been answered, aborted, or left by its client, and is recorded. */
  readonly ended: Promise<void>
}
