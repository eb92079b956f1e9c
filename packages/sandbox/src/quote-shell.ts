import type { Command } from './sandbox-types.ts'

/** One word for a POSIX shell that means exactly `text`. */
export function quoteShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** The command as the text of a shell script. */
export function commandScript(command: Command): string {
  return typeof command === 'string' ? command : `exec ${command.map(quoteShell).join(' ')}`
}
