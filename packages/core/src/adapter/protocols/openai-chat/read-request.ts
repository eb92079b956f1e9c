import { type ContentPart, type Message, type MessageToolCall, type ToolDefinition, WireError } from '@agentrl/spec'
import { sourceText } from '../../../render/json-source.ts'
import type { ChatRequest, ClientSampling } from '../protocol.ts'
import { joinText } from '../text-parts.ts'
import { unreadFields } from '../unread-fields.ts'
import {
  type ChatBody,
  type ChatBodyCall,
  type ChatBodyContent,
  type ChatBodyMessage,
  type ChatBodyTool,
  chatFields,
  readChatBody,
} from './wire.ts'

/** A Chat Completions body as messages. `developer` is `system` under another name. */
export function readChatRequest(raw: unknown): ChatRequest {
  const body = readChatBody(raw)
  if (body.n != null && body.n !== 1) {
    throw new WireError('wire_unsupported', `One request samples one reply: expected n = 1, found ${body.n}`)
  }
  return {
    model: body.model,
    messages: body.messages.map(toMessage),
    tools: body.tools.flatMap(toTool),
    isStreaming: body.stream ?? false,
    maxTokens: body.max_completion_tokens ?? body.max_tokens ?? null,
    stopStrings: body.stop == null ? [] : [body.stop].flat(),
    sampling: toSampling(body),
    wantsReasoning: true,
    wantsStreamUsage: body.stream_options?.include_usage ?? false,
    isMarkedSubAgent: false,
    wantsStructuredOutput: body.response_format != null && body.response_format.type !== 'text',
    droppedFields: [
      ...unreadFields(raw, chatFields),
      ...body.tools.flatMap((tool) => (tool.function === undefined ? [`tools.${tool.type}`] : [])),
    ],
  }
}

function toMessage(message: ChatBodyMessage): Message {
  switch (message.role) {
    case 'developer':
    case 'system':
      return { role: 'system', content: joinText(message.content ?? []) }
    case 'user':
      return { role: 'user', content: joinText(message.content ?? []) }
    case 'tool':
      return {
        role: 'tool',
        content: joinText(message.content ?? []),
        ...(message.tool_call_id === undefined ? {} : { tool_call_id: message.tool_call_id }),
        ...(message.name === undefined ? {} : { name: message.name }),
      }
    case 'assistant': {
      const reasoning = message.reasoning_content ?? message.reasoning ?? ''
      const calls = message.tool_calls ?? []
      return {
        role: 'assistant',
        content: textOf(message.content),
        ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
        ...(calls.length === 0 ? {} : { tool_calls: calls.map(toCall) }),
      }
    }
  }
}

function toCall(call: ChatBodyCall): MessageToolCall {
  const given = call.function.arguments ?? '{}'
  return {
    ...(call.id === undefined ? {} : { id: call.id }),
    type: 'function',
    function: { name: call.function.name, arguments: typeof given === 'string' ? given : sourceText(given) },
  }
}

/** An assistant's content is text; an image in it has no meaning to a template and is named as such. */
function textOf(content: ChatBodyContent): string | null {
  if (content === null) return null
  return content.map((part: ContentPart) => (part.type === 'text' ? part.text : '[image]')).join('\n')
}

function toTool(tool: ChatBodyTool): ToolDefinition[] {
  if (tool.function === undefined) return []
  const { name, description, parameters } = tool.function
  return [
    {
      type: 'function',
      function: {
        name,
        ...(description == null ? {} : { description }),
        ...(parameters == null ? {} : { parameters }),
      },
    },
  ]
}

function toSampling(body: ChatBody): ClientSampling {
  const named = {
    temperature: body.temperature,
    topP: body.top_p,
    topK: body.top_k,
    minP: body.min_p,
    frequencyPenalty: body.frequency_penalty,
    presencePenalty: body.presence_penalty,
    repetitionPenalty: body.repetition_penalty,
    seed: body.seed,
  }
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value != null)) as ClientSampling
}
