import type { Message, TokenIds, ToolDefinition } from '@agentrl/spec'
import type { HistoryReasoning } from '../history-reasoning.ts'
import { compileChatTemplate, type RenderedText } from './chat-template.ts'
import { concatenateIds } from './concatenate-ids.ts'
import { createRenderedTextSplitter } from './control-tokens.ts'
import { createMessageFitter } from './fit-messages.ts'
import { SegmentCache, type SegmentCacheStats } from './segment-cache.ts'
import type { StandInConversation } from './stand-in.ts'
import { createSuffixTemplate } from './suffix-template.ts'
import { type TemplateValue, templateMessages, templateTools, toTemplateValue } from './template-values.ts'
import type { Tokenizer } from './tokenizer.ts'

/**
 * From messages to prompt ids.
 *
 *   messages, tools ─ template ─▶ text ─ split at the template's own control
 *   tokens ─▶ segments ─ encode, cached ─▶ ids
 *
 * A control token that the template wrote is a hard split point, so a segment's
 * ids don't depend on its neighbours, and an unchanged message costs a look-up.
 * Text of messages is encoded by a tokenizer that knows no control token: a
 * tool result can't forge a turn.
 */
export interface RenderRequest {
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
}

export interface SuffixRequest extends RenderRequest {
  /** Messages from the start on that sampled ids account for; the last of them is the inherited reply. */
  readonly inheritedMessages: number
  /** The stop id that the inherited reply ends in; null if it was cut. */
  readonly stopTokenId: number | null
  /** The inherited reply was cut inside its reasoning. Default false. */
  readonly isReasoningOpen?: boolean
}

export interface RenderedPrompt {
  readonly ids: TokenIds
  /** The prompt's last characters: where a reply begins, and whether reasoning is open there. */
  readonly tail: string
  /** Occurrences of control tokens in message text that were encoded as plain text. */
  readonly protectedTokens: number
  /** System messages behind the first message that the template does not take, rendered as user messages. */
  readonly systemMessagesAsUser: number
  /** Images, which a prompt of ids can't hold, rendered as the word for one. */
  readonly imagesAsText: number
}

export interface RenderedSuffix extends RenderedPrompt {
  /** The template does not write the inherited stop id here: it is left out of the prompt. */
  readonly dropsStopToken: boolean
}

export interface Renderer {
  readonly historyReasoning: HistoryReasoning
  /** The ids of a whole prompt. Throws `trajectory_template`. Linear in its text. */
  renderPrompt(request: RenderRequest): Promise<RenderedPrompt>
  /**
   * The ids that follow a sampled reply: what the template writes for the
   * messages after it, and the generation prompt. Null where this template
   * can't be continued at this place. Linear in the new messages.
   */
  renderSuffix(request: SuffixRequest): Promise<RenderedSuffix | null>
  readonly cacheStats: SegmentCacheStats
}

export interface RendererOptions {
  readonly tokenizer: Tokenizer
  readonly chatTemplate: string
  /** Ids that end an output. */
  readonly stopTokenIds?: readonly number[]
  /** The named tokens of `tokenizer_config.json`, which templates read as variables: `{ bos_token: '<s>' }`. */
  readonly specialTokens?: Readonly<Record<string, string>>
  /** Variables of the template beside messages and tools, for example `{ enable_thinking: false }`. */
  readonly templateArguments?: Readonly<Record<string, unknown>>
  /** `plain` (default): message text never yields a control token. `template`: as Python does. */
  readonly controlTokensInContent?: 'plain' | 'template'
  /** Earlier reasoning where the template rewrites it: `keep` (default) what was sampled, or follow the `template`. */
  readonly historyReasoning?: HistoryReasoning
  /** Bound of the cache of encoded segments. Default 256 MiB. */
  readonly cacheBytes?: number
}

/** Compiles the template once. Throws `trajectory_template`. */
export function createRenderer(options: RendererOptions): Renderer {
  const { tokenizer, controlTokensInContent = 'plain', historyReasoning = 'keep' } = options
  const template = compileChatTemplate(options.chatTemplate)
  const split = createRenderedTextSplitter(tokenizer.addedTokens)
  const cache = new SegmentCache(options.cacheBytes ?? 256 * 1024 * 1024)
  const isPlain = controlTokensInContent === 'plain'
  const variables = Object.entries({ ...options.specialTokens, ...options.templateArguments }).map(
    ([name, value]) => [name, toTemplateValue(value)] as const,
  )

  /** Lists of tools are long, and the same for all turns of all sessions. */
  const convertedTools = new WeakMap<readonly ToolDefinition[], TemplateValue>()
  function markedTools(tools: readonly ToolDefinition[]): TemplateValue {
    const converted = convertedTools.get(tools) ?? templateTools(tools, { isMarked: true })
    convertedTools.set(tools, converted)
    return converted
  }

  function renderText({ standIn, added, tools }: StandInConversation): RenderedText {
    return template.renderTraced({
      ...Object.fromEntries(variables),
      messages: [
        ...templateMessages(standIn.map(withText)).messages,
        ...templateMessages(added.map(withText), { isMarked: true }).messages,
      ],
      tools: tools.length === 0 ? null : markedTools(tools),
      add_generation_prompt: true,
    })
  }

  const encodeText = isPlain ? (text: string) => tokenizer.encodePlain(text) : (text: string) => tokenizer.encode(text)

  async function encode(
    rendered: RenderedText,
  ): Promise<Omit<RenderedPrompt, 'systemMessagesAsUser' | 'imagesAsText'>> {
    const { segments, protectedOccurrences } = split(isPlain ? rendered : { ...rendered, valueSpans: [] })
    const parts = segments.map((segment) =>
      segment.kind === 'control' ? Int32Array.of(segment.id) : cache.get(segment.text, encodeText),
    )
    return {
      ids: concatenateIds(await Promise.all(parts)),
      tail: rendered.text.slice(-tailCharacters),
      protectedTokens: protectedOccurrences,
    }
  }

  const fitMessages = createMessageFitter(renderText)
  const { stopTokenIds = [] } = options
  const suffixTemplate = createSuffixTemplate({ render: renderText, split, stopTokenIds, historyReasoning })

  return {
    historyReasoning,
    async renderPrompt({ messages, tools }) {
      const { messages: fitted, ...changes } = fitMessages(messages)
      return { ...(await encode(renderText({ standIn: [], added: fitted, tools }))), ...changes }
    },
    async renderSuffix({ messages, tools, inheritedMessages, stopTokenId, isReasoningOpen = false }) {
      const { messages: inherited } = fitMessages(messages.slice(0, inheritedMessages))
      const { messages: added, ...changes } = fitMessages(messages.slice(inheritedMessages), { isStart: false })
      const suffix = suffixTemplate({ inherited, added, tools, stopTokenId, isReasoningOpen })
      if (suffix === null) return null
      const encoded = await encode(suffix.rendered)
      return { ...encoded, dropsStopToken: suffix.dropsStopToken, ...changes }
    },
    get cacheStats() {
      return cache.stats
    },
  }
}

const tailCharacters = 200

/** Null content is no text. Templates disagree about null (some fail, some print "None"), engines render ''. */
function withText(message: Message): Message {
  return message.content === null ? { ...message, content: '' } : message
}
