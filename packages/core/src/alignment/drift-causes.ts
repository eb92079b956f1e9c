/**
 * Why the prompt of a turn does not go on where the session's turns ended, or
 * goes on there but not with the tokens that were sampled. Each departure has
 * one cause; causes are counted as `drift.<cause>`, and what inheriting made
 * harmless as `drift_absorbed.<cause>`.
 */
export const driftCauses = {
  retokenization: {
    meaning: 'the prompt was rendered anew, and splits a reply into other tokens than were sampled',
    hint: 'Use the alignment "inherit". If it is on, this template could not be continued here: `agentrl certify` shows why.',
  },
  template_rewrite: {
    meaning: 'the prompt was rendered anew, and the template writes a reply otherwise than it was sampled',
    hint: 'Use the alignment "inherit". If it is on, this template could not be continued here: `agentrl certify` shows why.',
  },
  reasoning_stripped: {
    meaning: 'the template leaves the reasoning of earlier replies out',
    hint: 'Keep reasoning in the history (historyReasoning "keep"), or train each turn as a sample of its own.',
  },
  arguments_reserialized: {
    meaning: 'the client sent tool-call arguments back in another spelling: spaces, key order, 2.0 as 2',
    hint: 'Harmless with the alignment "inherit", which repeats what was sampled.',
  },
  dropped_field: {
    meaning: 'the client sent a reply back without its reasoning, its text or its tool calls',
    hint: 'Reasoning is kept by the alignment "inherit". For the rest, look whether the client has a setting that keeps its history whole.',
  },
  moved_system_message: {
    meaning: 'a system message stands elsewhere than before, is new in the middle, or is gone',
    hint: "Switch the client's reminders off, or those of its features that inject them.",
  },
  cache_buster: {
    meaning:
      'what stands before the first reply changes from request to request: a date, a hash, a state of the workspace',
    hint: "Find the changing text in the example, and switch it off in the client's settings or environment.",
  },
  tool_list_changed: {
    meaning: 'the client offers other tools than before',
    hint: 'The model has to see them, so the conversation starts anew. Fix the list: allowedTools, or the setting of the client.',
  },
  stop_token: {
    meaning: 'the reply ended in another stop token than the template writes there',
    hint: 'One token a turn is not trained. Give the engine only the stop token that the template writes.',
  },
  edited_history: {
    meaning: 'the client changed or removed messages that it had sent before',
    hint: 'The turns before the change stay trained. See the example for what was changed.',
  },
  dropped_reply: {
    meaning: 'the client left a reply out of its history: most clients do so when it is empty or has only reasoning',
    hint: 'The reply trains as a branch of its own. If it happens often, the policy ends turns too early.',
  },
  renamed_call: {
    meaning: 'the client gave a tool call another name: some do so with tools that they do not have',
    hint: 'The reply trains as a branch of its own. See the example for the tool that the policy invents.',
  },
  compaction: {
    meaning: 'the client summarized its history, or went on from a summary',
    hint: 'Expected when the context is full. Raise maxContextTokens, or shorten what tools return, to see less of it.',
  },
  sub_agent: {
    meaning: 'a sub-agent began a conversation of its own',
    hint: 'Expected. branchPolicies says whether it is trained; a tool list without the tool that starts it prevents it.',
  },
  auxiliary: {
    meaning: 'the client asked for something beside the task, such as a title',
    hint: "Decides over no reward: switch it off in the client, or leave it out with branchPolicies { auxiliary: 'context' }.",
  },
  resend: {
    meaning: 'the client sent the same request again and did not use the reply that it had got',
    hint: 'Both replies train. Clients ask again after an empty, cut or unreadable reply.',
  },
} as const

/** The name of a cause. */
export type DriftCause = keyof typeof driftCauses

/** One departure, with the first place where it shows. */
export interface Departure {
  readonly cause: DriftCause
  /** Where: `head`, `messages[3].content`, `tokens[1207]`. */
  readonly where: string
  /** What stood there, cut to a few words around the first difference; '' where nothing did. */
  readonly held: string
  /** What stands there now. */
  readonly found: string
}
