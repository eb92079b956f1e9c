import type { AgentRlError } from '@agentrl/spec'
import type { Protocol } from '../protocol.ts'
import { readMessagesRequest } from './read-request.ts'
import { writeMessagesReply, writeMessagesStream } from './write-reply.ts'

/** Anthropic's Messages, as Claude Code speaks it. */
export const anthropicMessages: Protocol = {
  name: 'anthropic-messages',
  path: '/v1/messages',
  countTokensPath: '/v1/messages/count_tokens',
  readRequest: readMessagesRequest,
  writeReply: writeMessagesReply,
  writeStream: (reply) => writeMessagesStream(reply),
  streamPing: { event: 'ping', data: '{"type":"ping"}' },
  writeError: errorBody,
  writeStreamError: (error, status) => ({ event: 'error', data: JSON.stringify(errorBody(error, status)) }),
  writeTokenCount: (tokens) => ({ input_tokens: tokens }),
}

const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
}

function errorBody(error: AgentRlError, status: number): unknown {
  return { type: 'error', error: { type: errorTypes[status] ?? 'api_error', message: error.message } }
}
