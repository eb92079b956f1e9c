import { HarnessError } from '@agentrl/spec'
import OpenAI from 'openai'
import type { Harness, HarnessContext, HarnessResult } from './harness.ts'
import { type MiniMessage, streamReply } from './mini-reply.ts'
import { miniTools, runTool } from './mini-tools.ts'

/**
 * The embedded agent: a loop of ours around one bash tool, speaking Chat
 * Completions with the official client. It runs in this process and needs
 * nothing in the sandbox but a shell, so it works with every image.
 *
 *   instruction ─▶ model ─▶ calls? ── no ──▶ finished
 *                    ▲        │ yes
 *                    └─ results ◀─ sandbox.exec
 */
export const mini: Harness = {
  name: 'mini',
  summary: 'the embedded agent: a bash loop over Chat Completions, nothing to install',
  protocol: 'openai-chat',
  runsIn: 'host',
  run: runMini,
}

const systemPrompt = [
  'You are a software engineer working in a shell.',
  'Solve the task by calling tools; each command starts in the project folder, with nothing kept from the one before.',
  'Look before you change, test what you changed, and say in one sentence what you did when you are done.',
].join(' ')

async function runMini(context: HarnessContext): Promise<HarnessResult> {
  const deadline = AbortSignal.timeout(context.timeBudgetMs)
  const signal = context.signal === undefined ? deadline : AbortSignal.any([context.signal, deadline])
  const client = new OpenAI({
    baseURL: `${context.adapterUrl}/v1`,
    apiKey: context.apiKey,
    organization: null,
    project: null,
    maxRetries: 1,
    timeout: context.timeBudgetMs,
    logLevel: 'off',
  })
  const messages: MiniMessage[] = [
    { role: 'system', content: systemPrompt },
    { role: 'user', content: context.instruction },
  ]
  try {
    return await converse(client, messages, { ...context, signal })
  } catch (error) {
    if (context.signal?.aborted === true) return { end: 'cancelled', exitCode: null, outputTail: '' }
    if (deadline.aborted) return { end: 'timed_out', exitCode: null, outputTail: lastText(messages) }
    // The turn cap and a window that is full are the policy's own doing: the attempt ends here and is graded.
    if (error instanceof OpenAI.APIError && (error.status === 429 || error.code === 'context_length_exceeded')) {
      return { end: 'failed', exitCode: null, outputTail: error.message }
    }
    if (error instanceof OpenAI.APIError) {
      throw new HarnessError('harness_failed', `The adapter answered the agent with an error: ${error.message}`, {
        cause: error,
      })
    }
    throw error
  }
}

async function converse(
  client: OpenAI,
  messages: MiniMessage[],
  context: HarnessContext & { readonly signal: AbortSignal },
): Promise<HarnessResult> {
  for (;;) {
    const { message, finishReason } = await streamReply(client, {
      model: context.model,
      messages,
      tools: miniTools,
      signal: context.signal,
    })
    messages.push(message)
    const calls = message.tool_calls ?? []
    // A cut reply may hold whole calls before the cut; running them would act on half a thought.
    if (calls.length === 0 || finishReason === 'length') {
      return { end: 'finished', exitCode: null, outputTail: lastText(messages) }
    }
    for (const call of calls) {
      const content = await runTool(context.sandbox, call.function, context)
      messages.push({ role: 'tool', tool_call_id: call.id, content })
    }
  }
}

function lastText(messages: readonly MiniMessage[]): string {
  const text = messages.findLast((message) => message.role === 'assistant')?.content
  return typeof text === 'string' ? text.slice(-2000) : ''
}
