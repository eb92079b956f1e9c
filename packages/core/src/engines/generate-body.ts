import type { EngineRequest } from '@agentrl/spec'
import type { PromptBytes } from './prompt-bytes.ts'

/** The body of SGLang's `POST /generate`, in pieces. Every sampling key is written, so that no server default decides. */
export function generateBody(
  engineRequest: EngineRequest,
  { wantsExperts, promptBytes }: { readonly wantsExperts: boolean; readonly promptBytes: PromptBytes },
): readonly Uint8Array[] {
  const { sampling } = engineRequest
  const rest = {
    rid: engineRequest.requestId,
    sampling_params: {
      max_new_tokens: engineRequest.maxNewTokens,
      temperature: sampling.temperature,
      top_p: sampling.topP,
      top_k: sampling.topK,
      min_p: sampling.minP,
      frequency_penalty: sampling.frequencyPenalty,
      presence_penalty: sampling.presencePenalty,
      repetition_penalty: sampling.repetitionPenalty,
      ...(sampling.seed === undefined ? {} : { sampling_seed: sampling.seed }),
      stop_token_ids: engineRequest.stopTokenIds,
      ignore_eos: false,
      skip_special_tokens: false,
      spaces_between_special_tokens: false,
      no_stop_trim: true,
      n: 1,
    },
    return_logprob: true,
    logprob_start_len: -1,
    stream: false,
    ...(wantsExperts
      ? { return_routed_experts: true, routed_experts_start_len: engineRequest.knownExpertRows ?? 0 }
      : {}),
  }
  return [
    Buffer.from('{"input_ids":['),
    ...promptBytes.piecesOf(engineRequest.routingKey, engineRequest.promptIds),
    Buffer.from(`],${JSON.stringify(rest).slice(1)}`),
  ]
}
