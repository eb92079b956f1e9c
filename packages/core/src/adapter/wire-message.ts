import type { AssistantMessage, EngineReply, MessageToolCall } from '@agentrl/spec'
import type { ParsedOutput } from '@agentrl/tool-calls'
import type { ChatReply, ChatRequest } from './protocols/protocol.ts'

/**
 * The reply as the client gets it, which is also what it will send back: the
 * tree records this form. White space alone is no text; a reply whose only
 * content was ill-formed shows that as text, so that the client sees what the
 * model tried.
 */
export function toWireMessage(
  parsed: ParsedOutput,
  context: {
    /** The whole decoded output. */
    readonly rawText: string
    readonly finishReason: EngineReply['finishReason']
    readonly request: ChatRequest
    readonly newId: () => string
  },
): { message: AssistantMessage; finish: ChatReply['finish']; isStopString: boolean } {
  const { rawText, finishReason, request, newId } = context
  const calls = parsed.calls.map(
    (call): MessageToolCall => ({
      id: `call_${newId()}`,
      type: 'function',
      function: { name: call.name, arguments: call.argumentsText },
    }),
  )
  const cut = cutAtStopString(parsed.text, request.stopStrings)
  const isStopString = cut !== parsed.text
  const shown =
    cut.trim() !== '' || calls.length > 0 || isStopString
      ? cut
      : parsed.illFormed.map(({ span }) => rawText.slice(span.charStart, span.charEnd)).join('\n')
  const hasReasoning = request.wantsReasoning && parsed.reasoning.trim() !== ''
  const message: AssistantMessage = {
    role: 'assistant',
    content: shown.trim() === '' ? null : shown,
    ...(hasReasoning ? { reasoning_content: parsed.reasoning } : {}),
    ...(calls.length === 0 || isStopString ? {} : { tool_calls: calls }),
  }
  if (finishReason === 'length') return { message, finish: 'length', isStopString }
  if (isStopString) return { message, finish: 'stop_string', isStopString }
  return { message, finish: calls.length > 0 ? 'tool_calls' : 'stop', isStopString }
}

function cutAtStopString(text: string, stopStrings: readonly string[]): string {
  // An empty string ends no text: engines refuse it, and here it would empty every reply.
  const cuts = stopStrings.map((stop) => (stop === '' ? -1 : text.indexOf(stop))).filter((index) => index >= 0)
  return cuts.length === 0 ? text : text.slice(0, Math.min(...cuts))
}
