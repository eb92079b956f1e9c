/** Fields beside a log message: ids and numbers, never a secret. */
export type LogFields = Readonly<Record<string, unknown>>

/** Where a library says what it did. Libraries never touch the console. */
export interface Logger {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

const ignore = (): void => {}

/** The default logger: says nothing. */
export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }
