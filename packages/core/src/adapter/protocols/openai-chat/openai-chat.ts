import type { AgentRlError } from '@agentrl/spec'
import type { Protocol } from '../protocol.ts'
import { readChatRequest } from './read-request.ts'
import { writeChatReply, writeChatStream } from './write-reply.ts'

/** OpenAI's Chat Completions, with `reasoning_content` as open-weight servers add it. */
export const openAiChat: Protocol = {
  name: 'openai-chat',
  path: '/v1/chat/completions',
  countTokensPath: null,
  readRequest: readChatRequest,
  writeReply: writeChatReply,
  writeStream: writeChatStream,
  streamPing: { comment: 'waiting for the engine' },
  writeError: errorBody,
  writeStreamError: (error, status) => ({ data: JSON.stringify(errorBody(error, status)) }),
  writeTokenCount: (tokens) => ({ input_tokens: tokens }),
}

function errorBody(error: AgentRlError, status: number): unknown {
  return {
    error: {
      message: error.message,
      type: status === 429 ? 'rate_limit_error' : status >= 500 ? 'server_error' : 'invalid_request_error',
      param: null,
      code: error.code === 'wire_context_overflow' ? 'context_length_exceeded' : error.code,
    },
  }
}
