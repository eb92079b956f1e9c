import { unreachable } from '@agentrl/spec'
import type { CallDamage, ScriptedToolCall } from './scripted-turn.ts'

/**
 * One script for many clients: a script says what to do, a dialect says with
 * which of the client's tools. The dialect is found by the tools that the
 * prompt offers.
 */

/** What a script does. Paths are relative to the task's working directory. */
export type ToolAction = (
  | { readonly kind: 'bash'; readonly command: string }
  | { readonly kind: 'read'; readonly path: string }
  /** Replaces the file. `content` ends in a line break. A file that exists must have been read before. */
  | { readonly kind: 'write'; readonly path: string; readonly content: string }
) & { readonly damage?: CallDamage }

interface DialectContext {
  readonly toolNames: ReadonlySet<string>
  /** Where the client says it works; null if it does not say. */
  readonly workingDirectory: string | null
}

export interface ToolDialect {
  readonly name: string
  matches(toolNames: ReadonlySet<string>): boolean
  toCall(action: ToolAction, context: DialectContext): ScriptedToolCall
}

/** Our own harness: everything is a shell command. */
const mini: ToolDialect = {
  name: 'mini',
  matches: (toolNames) => toolNames.has('bash'),
  toCall: (action) => ({ name: 'bash', arguments: { command: shellCommand(action) } }),
}

/** Claude Code: files have tools of their own, which want absolute paths. */
const claudeCode: ToolDialect = {
  name: 'claude_code',
  matches: (toolNames) => toolNames.has('Bash'),
  toCall(action, { toolNames, workingDirectory }) {
    const absolute = (path: string): string => (workingDirectory === null ? path : `${workingDirectory}/${path}`)
    if (action.kind === 'read' && toolNames.has('Read')) {
      return { name: 'Read', arguments: { file_path: absolute(action.path) } }
    }
    if (action.kind === 'write' && toolNames.has('Write')) {
      return { name: 'Write', arguments: { file_path: absolute(action.path), content: action.content } }
    }
    return { name: 'Bash', arguments: { command: shellCommand(action), description: describe(action) } }
  },
}

/** The dialects known here; the first that matches is taken. */
export const toolDialects: readonly ToolDialect[] = [claudeCode, mini]

/** The tools that a prompt offers, as JSON definitions in its text name them. */
export function readToolNames(headText: string): ReadonlySet<string> {
  return new Set(Array.from(headText.matchAll(/"name": ?"([^"\\]+)"/g), ([, name]) => name ?? ''))
}

/** Where the client says it works, as Claude Code writes it. */
export function readWorkingDirectory(headText: string): string | null {
  return /[Ww]orking directory: ?(\/[^\s<]*)/.exec(headText)?.[1] ?? null
}

function shellCommand(action: ToolAction): string {
  switch (action.kind) {
    case 'bash':
      return action.command
    case 'read':
      return `cat ${quote(action.path)}`
    case 'write':
      return `cat > ${quote(action.path)} <<'END_OF_FILE'\n${action.content}END_OF_FILE`
    default:
      return unreachable(action)
  }
}

function describe(action: ToolAction): string {
  return action.kind === 'bash' ? 'Run a command' : `${action.kind === 'read' ? 'Read' : 'Write'} ${action.path}`
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
