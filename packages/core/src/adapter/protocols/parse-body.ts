import { isAgentRlError, WireError } from '@agentrl/spec'
import { parseJsonWithSources } from '../../render/json-source.ts'

/** Members of bodies that templates write as they were sent: schemas of tools, and arguments of calls. */
const literalMembers: ReadonlySet<string> = new Set(['parameters', 'input_schema', 'input', 'arguments'])

/** The body of a request. Throws `wire_invalid_json`, `value_invalid`. Linear. */
export function parseBody(text: string): unknown {
  try {
    return parseJsonWithSources(text, literalMembers)
  } catch (cause) {
    if (isAgentRlError(cause)) throw cause
    throw new WireError('wire_invalid_json', `The body is not JSON: ${(cause as Error).message}`, { cause })
  }
}
