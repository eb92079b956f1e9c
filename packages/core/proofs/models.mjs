/**
 * Public models whose chat templates are certified: the template's file in the
 * package of templates, the tokenizer, and the ids that end an output.
 *
 * Tokenizers come from a package where one has them. Elsewhere a small
 * vocabulary stands in that has the tokens which the template writes: the bytes
 * between them are encoded otherwise than by the model's own, which inheritance
 * does not depend on.
 */
const qwenTokens = ['<|im_end|>', '<|endoftext|>']
const glmTokens = [
  ...['[gMASK]', '<sop>', '<|system|>', '<|assistant|>', '<think>', '</think>', '<tool_call>', '</tool_call>'],
  ...['<tool_response>', '</tool_response>', '<arg_key>', '</arg_key>', '<arg_value>', '</arg_value>'],
]
const kimiTokens = [
  ...['<|im_user|>', '<|im_assistant|>', '<|im_system|>', '<|im_middle|>', '<|tool_calls_section_begin|>'],
  ...['<|tool_calls_section_end|>', '<|tool_call_begin|>', '<|tool_call_argument_begin|>', '<|tool_call_end|>'],
]
/** The package has the tokenizer of V3, which has no tokens for reasoning. */
const deepSeek = {
  tokens: [
    ...[
      '<｜begin▁of▁sentence｜>',
      '<｜User｜>',
      '<｜Assistant｜>',
      '<think>',
      '</think>',
      '｜DSML｜',
      '<｜tool▁sep｜>',
    ],
    ...['<｜tool▁calls▁begin｜>', '<｜tool▁calls▁end｜>', '<｜tool▁call▁begin｜>', '<｜tool▁call▁end｜>'],
    ...['<｜tool▁output▁begin｜>', '<｜tool▁output▁end｜>'],
  ],
  stops: ['<｜end▁of▁sentence｜>'],
  specialTokens: { bos_token: '<｜begin▁of▁sentence｜>', eos_token: '<｜end▁of▁sentence｜>' },
}

/** Vocabularies whose ids are compared with Python's, each with the template that writes its control tokens. */
export const vocabularies = [
  { package: 'qwen3', template: 'Qwen-Qwen3-0.6B' },
  { package: 'qwen2_5', template: 'Qwen-Qwen2.5-7B-Instruct' },
  { package: 'llama3_2', template: 'meta-llama-Llama-3.1-8B-Instruct' },
  { package: 'gptoss', template: 'openai-gpt-oss-120b' },
  { package: 'deepseek_v3', template: 'deepseek-ai-DeepSeek-V3.1' },
  { package: 'mistral_nemo', template: 'mistralai-Mistral-Nemo-Instruct-2407' },
]

export const models = [
  {
    name: 'ChatML (Hermes 3)',
    template: 'NousResearch-Hermes-3-Llama-3.1-8B-tool_use',
    package: 'qwen2_5',
    stops: qwenTokens,
  },
  { name: 'Qwen2.5', template: 'Qwen-Qwen2.5-7B-Instruct', package: 'qwen2_5', stops: qwenTokens },
  { name: 'Qwen3', template: 'Qwen-Qwen3-0.6B', package: 'qwen3', stops: qwenTokens },
  {
    name: 'Qwen3, enable_thinking=false',
    template: 'Qwen-Qwen3-0.6B',
    package: 'qwen3',
    stops: qwenTokens,
    templateArguments: { enable_thinking: false },
  },
  { name: 'Qwen3-Coder', template: 'Qwen3-Coder', package: 'qwen3', stops: qwenTokens },
  { name: 'Qwen3.5', template: 'Qwen3.5-4B', package: 'qwen3', stops: qwenTokens },
  { name: 'Qwen3.6', template: 'xinference-qwen3.6', package: 'qwen3', stops: qwenTokens },
  { name: 'Qwen3-Next', template: 'xinference-Qwen3-Next-Thinking', package: 'qwen3', stops: qwenTokens },
  {
    name: 'GLM-4.5',
    template: 'xinference-glm-4.5',
    tokens: glmTokens,
    stops: ['<|endoftext|>', '<|user|>', '<|observation|>'],
  },
  {
    name: 'GLM-4.6',
    template: 'GLM-4.6',
    tokens: glmTokens,
    stops: ['<|endoftext|>', '<|user|>', '<|observation|>'],
  },
  {
    name: 'GLM-4.7',
    template: 'GLM-4.7-Flash',
    tokens: glmTokens,
    stops: ['<|endoftext|>', '<|user|>', '<|observation|>'],
  },
  {
    name: 'GLM-5.2',
    template: 'xinference-glm-5.2',
    tokens: glmTokens,
    stops: ['<|endoftext|>', '<|user|>', '<|observation|>'],
  },
  { name: 'DeepSeek-V3.1', template: 'deepseek-ai-DeepSeek-V3.1', ...deepSeek },
  {
    name: 'DeepSeek-V3.1, thinking',
    template: 'deepseek-ai-DeepSeek-V3.1',
    templateArguments: { thinking: true },
    ...deepSeek,
  },
  { name: 'DeepSeek-V3.2', template: 'deepseek-ai-DeepSeek-V3.2', ...deepSeek },
  {
    name: 'Llama-3.1',
    template: 'meta-llama-Llama-3.1-8B-Instruct',
    package: 'llama3_2',
    stops: ['<|end_of_text|>', '<|eom_id|>', '<|eot_id|>'],
  },
  { name: 'Kimi-K2', template: 'moonshotai-Kimi-K2', tokens: kimiTokens, stops: ['<|im_end|>', '[EOS]'] },
  { name: 'Kimi-K2, numbered calls', template: 'Kimi-K2-Instruct', tokens: kimiTokens, stops: ['<|im_end|>', '[EOS]'] },
  { name: 'Kimi-K2.5', template: 'xinference-Kimi-K2.5', tokens: kimiTokens, stops: ['<|im_end|>', '[EOS]'] },
  {
    name: 'MiniMax-M2',
    template: 'MiniMax-M2',
    tokens: [']~!b[', ']~b]', '<think>', '</think>', '<minimax:tool_call>', '</minimax:tool_call>'],
    stops: ['[e~['],
  },
  {
    name: 'Mistral-Small-3.2',
    template: 'Mistral-Small-3.2-24B-Instruct-2506',
    tokens: [
      ...['<s>', '[INST]', '[/INST]', '[SYSTEM_PROMPT]', '[/SYSTEM_PROMPT]', '[AVAILABLE_TOOLS]', '[/AVAILABLE_TOOLS]'],
      ...['[TOOL_CALLS]', '[CALL_ID]', '[ARGS]', '[TOOL_RESULTS]', '[TOOL_CONTENT]', '[/TOOL_RESULTS]'],
    ],
    stops: ['</s>'],
    specialTokens: { bos_token: '<s>', eos_token: '</s>' },
  },
  {
    name: 'gpt-oss',
    template: 'openai-gpt-oss-120b',
    package: 'gptoss',
    stops: ['<|return|>', '<|endoftext|>', '<|call|>'],
  },
  {
    name: 'Nemotron-3-Nano',
    template: 'NVIDIA-Nemotron-3-Nano-30B-A3B-BF16',
    tokens: [
      '<|im_start|>',
      '<think>',
      '</think>',
      '<tool_call>',
      '</tool_call>',
      '<tool_response>',
      '</tool_response>',
    ],
    stops: ['<|im_end|>', '</s>'],
  },
]
