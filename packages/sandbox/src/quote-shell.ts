import type { Command } from './sandbox-types.ts'

/** One word for a POSIX shell that means exactly `text`. */
export function quoteShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** The command as the text of a shell script, with variables of its own. */
export function commandScript(command: Command, env: Readonly<Record<string, string>> = {}): string {
  const exports = Object.entries(env).map(([name, value]) => `export ${name}=${quoteShell(value)}\n`)
  return `${exports.join('')}${typeof command === 'string' ? command : `exec ${command.map(quoteShell).join(' ')}`}\n`
}
