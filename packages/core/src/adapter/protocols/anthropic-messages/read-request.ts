import type { AssistantMessage, ContentPart, Message, ToolDefinition } from '@agentrl/spec'
import { sourceText } from '../../../render/json-source.ts'
import type { ChatRequest } from '../protocol.ts'
import { joinText } from '../text-parts.ts'
import { unreadFields } from '../unread-fields.ts'
import {
  type MessagesBlock,
  type MessagesBodyMessage,
  type MessagesBodyTool,
  messagesFields,
  readMessagesBody,
} from './wire.ts'

/** Claude Code's note to its vendor's server, with a hash that differs between its agents. No model is meant to read it. */
const billingHeader = 'x-anthropic-billing-header'

/**
 * A Messages body as messages. Tool results of a user message become tool
 * messages of their own, ahead of its text; `cache_control`, signatures and
 * redacted thinking say nothing to a model and are dropped.
 */
export function readMessagesRequest(raw: unknown): ChatRequest {
  const body = readMessagesBody(raw)
  const dropped = [...unreadFields(raw, messagesFields)]
  const billing = body.system.filter((text) => text.startsWith(billingHeader))
  if (billing.length > 0) dropped.push(`system.${billingHeader}`)
  const system = body.system.filter((text) => !text.startsWith(billingHeader)).join('\n')
  return {
    model: body.model,
    messages: [
      ...(system === '' ? [] : [{ role: 'system', content: system } as const]),
      ...body.messages.flatMap((message) => toMessages(message, dropped)),
    ],
    tools: body.tools.flatMap((tool) => toTool(tool, dropped)),
    isStreaming: body.stream ?? false,
    maxTokens: body.max_tokens ?? null,
    stopStrings: body.stop_sequences ?? [],
    sampling: {
      ...(body.temperature == null ? {} : { temperature: body.temperature }),
      ...(body.top_p == null ? {} : { topP: body.top_p }),
      ...(body.top_k == null ? {} : { topK: body.top_k }),
    },
    wantsReasoning: body.thinking != null && body.thinking.type !== 'disabled',
    wantsStreamUsage: true,
    isMarkedSubAgent: billing.some((text) => text.includes('cc_is_subagent=true')),
    wantsStructuredOutput: body.output_config?.format != null,
    droppedFields: dropped,
  }
}

/** What a model can be shown of each side. */
const repliedBlocks: ReadonlySet<string> = new Set(['text', 'thinking', 'tool_use'])
const sentBlocks: ReadonlySet<string> = new Set(['text', 'image', 'tool_result'])

function toMessages({ role, blocks }: MessagesBodyMessage, dropped: string[]): Message[] {
  noteDropped(blocks, { shown: role === 'assistant' ? repliedBlocks : sentBlocks, within: 'block', dropped })
  if (role === 'assistant') return [toAssistant(blocks)]
  const results = blocks.flatMap((block): Message[] =>
    block.type === 'tool_result'
      ? [{ role: 'tool', content: contentOf(block.blocks), tool_call_id: block.toolUseId }]
      : [],
  )
  const hasMore = blocks.some((block) => block.type === 'text' || block.type === 'image')
  return hasMore || results.length === 0 ? [...results, { role, content: contentOf(blocks) }] : results
}

function noteDropped(
  blocks: readonly MessagesBlock[],
  { shown, within, dropped }: { shown: ReadonlySet<string>; within: string; dropped: string[] },
): void {
  for (const block of blocks) {
    if (!shown.has(block.type)) dropped.push(`${within}.${block.type === 'other' ? block.kind : block.type}`)
    else if (block.type === 'tool_result') {
      if (block.isError) dropped.push('tool_result.is_error')
      noteDropped(block.blocks, { shown, within: 'tool_result', dropped })
    }
  }
}

function toAssistant(blocks: readonly MessagesBlock[]): AssistantMessage {
  const reasoning = blocks.flatMap((block) => (block.type === 'thinking' ? [block.thinking] : [])).join('\n')
  const texts = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : []))
  const calls = blocks.flatMap((block) => (block.type === 'tool_use' ? [toCall(block)] : []))
  return {
    role: 'assistant',
    content: texts.length === 0 ? null : texts.join('\n'),
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

function toCall({ id, name, input }: Extract<MessagesBlock, { type: 'tool_use' }>) {
  return { id, type: 'function' as const, function: { name, arguments: sourceText(input ?? {}) } }
}

function contentOf(blocks: readonly MessagesBlock[]): string | readonly ContentPart[] {
  return joinText(
    blocks.flatMap((block): ContentPart[] => (block.type === 'text' || block.type === 'image' ? [block] : [])),
  )
}

function toTool(tool: MessagesBodyTool, dropped: string[]): ToolDefinition[] {
  if (tool.input_schema === undefined) {
    dropped.push(`tools.${tool.type ?? tool.name}`)
    return []
  }
  return [
    {
      type: 'function',
      function: {
        name: tool.name,
        ...(tool.description == null ? {} : { description: tool.description }),
        parameters: tool.input_schema,
      },
    },
  ]
}
