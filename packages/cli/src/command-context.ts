/** Where a command writes: results to `out`, everything else to `err`. */
export interface CommandOutput {
  out(text: string): void
  err(text: string): void
}

/** What every command gets. */
export interface CommandContext {
  readonly output: CommandOutput
  readonly signal: AbortSignal
  /** Ends the program with this status although nothing was thrown. */
  setExitCode(code: number): void
}
