import { type ParsedOutput, type ParseOptions, parseModelOutput } from '@agentrl/tool-calls'

/**
 * A call of a tool that was not offered is passed on to the client: refusing it
 * is the client's part, and the model reads the refusal and goes on. The region
 * stays in `illFormed`, so that it is counted and the turn is flagged.
 */
export function passUndeclaredCalls(
  parsed: ParsedOutput,
  { rawText, parsing }: { readonly rawText: string; readonly parsing: ParseOptions },
): ParsedOutput {
  const { tools: _, ...withoutTools } = parsing
  const undeclared = parsed.illFormed
    .filter(({ code }) => code === 'unknown_tool')
    .flatMap(({ span }) => {
      const region = rawText.slice(span.charStart, span.charEnd)
      const { calls } = parseModelOutput(region, { ...withoutTools, thinking: false })
      return calls.map((call) => ({ ...call, span }))
    })
  if (undeclared.length === 0) return parsed
  const calls = [...parsed.calls, ...undeclared].sort((left, right) => left.span.charStart - right.span.charStart)
  const repairCounts = { ...parsed.repairCounts }
  for (const code of undeclared.flatMap((call) => call.repairs)) repairCounts[code] = (repairCounts[code] ?? 0) + 1
  return { ...parsed, calls, repairCounts }
}
