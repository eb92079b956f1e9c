import { unreachable } from '@agentrl/spec'
import type { ScriptedToolCall, ScriptedTurn } from './scripted-turn.ts'

/**
 * The format of Hermes and Qwen3, in the layout that Qwen3's own template gives
 * an answer in history. In a turn that never ends, what comes last stays open:
 * the text of its last call, its text, or its reasoning.
 */
export function encodeHermesTurn(turn: ScriptedTurn): string {
  const calls = (turn.calls ?? []).map((call) => `<tool_call>\n${encodeCall(call)}\n</tool_call>`)
  const parts = [turn.text ?? '', ...calls, turn.raw ?? ''].filter((part) => part !== '')
  const thinking = turn.reasoning === undefined ? '' : `<think>\n${turn.reasoning}\n</think>\n\n`
  const whole = `${thinking}${parts.join('\n')}`
  const written = turn.finish === 'length' ? whole.replace(/"?\}*\n<\/tool_call>$|\n<\/think>\n\n$/, '') : whole
  return `${written}<|im_end|>`
}

function encodeCall({ name, arguments: values, damage }: ScriptedToolCall): string {
  const json = `{"name": ${JSON.stringify(name)}, "arguments": ${spaced(values)}}`
  switch (damage) {
    case undefined:
      return json
    case 'raw-newline':
      return json.replace(/\\./g, (pair) => (pair === '\\n' ? '\n' : pair))
    case 'single-backslash':
      return json.replace(/\\.(?!["\\/bfnrtu])/g, (pair) => (pair === '\\\\' ? '\\' : pair))
    case 'bare-word':
      return json.replace(/"((?:[^"\\]|\\.)*)"}}$/, '$1}}')
    default:
      return unreachable(damage)
  }
}

/** JSON with a space after each comma and colon, as Python writes it and models learn it. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).map(([key, field]) => `${JSON.stringify(key)}: ${spaced(field)}`)
  return `{${fields.join(', ')}}`
}
