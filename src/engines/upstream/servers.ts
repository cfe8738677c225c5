import type { Sampling } from '../../core/request.ts';
import type { ServerKind } from '../../core/server-kind.ts';

/** What one kind of server knows beyond the format, and in which words. */
export interface Server {
  /** Its words for our sampling wishes. What is not here it does not hear, or refuses. */
  readonly sampling: Readonly<Partial<Record<keyof Sampling, string>>>;
  /**
   * How it is told whether to think. `template`: by arguments of its chat template; `effort`: by `reasoning_effort`.
   * Absent: not at all.
   */
  readonly thinking?: 'template' | 'effort';
  /** Its word for the tokens that a thought may take. */
  readonly thinkingBudget?: string;
  /** Its word for the limit of an answer, thoughts included. Absent: `max_tokens` and `max_completion_tokens` as they come. */
  readonly maxTokens?: string;
  /** Its word for single token ids that end an answer. */
  readonly stopTokens?: string;
  /** What makes it go on with the last message. */
  readonly continuation?: object;
  /** A tool can be asked for by name; otherwise it is offered alone, and required. */
  readonly namesTool: boolean;
  /** What asks for an object of any form. */
  readonly jsonObject: object;
  /** Fewest alternatives that bring log probabilities at all. */
  readonly topLogprobsMin: number;
  /** What it tells of usage counts one choice and comes with each. */
  readonly usagePerChoice: boolean;
  /** Where it says whether it works; otherwise its list of models is asked for. */
  readonly health?: string;
  /** How it counts tokens: the chat as it is, or first the prompt and then its tokens. Absent: it does not. */
  readonly tokenizer?: 'chat' | 'prompt';
  /** It tells the texts of many single tokens at once. */
  readonly detokenizesMany: boolean;
  readonly ranks: boolean;
  /** Its scores are logits and not probabilities. */
  readonly scoresAreLogits: boolean;
  /** Further fields of the body that it knows. None of them changes what the answer's events mean. */
  readonly forwards: readonly string[];
}

const FORMAT = {
  temperature: 'temperature',
  topP: 'top_p',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  logitBias: 'logit_bias',
  seed: 'seed',
} as const satisfies Server['sampling'];

const EVERYTHING = {
  ...FORMAT,
  topK: 'top_k',
  minP: 'min_p',
  repetitionPenalty: 'repetition_penalty',
} as const satisfies Server['sampling'];

const PLAIN = {
  namesTool: true,
  jsonObject: { type: 'json_object' },
  topLogprobsMin: 0,
  usagePerChoice: false,
  detokenizesMany: false,
  ranks: true,
  scoresAreLogits: false,
} as const satisfies Partial<Server>;

/** Whether it waits for the next turn of our user or of the model, in the words of two servers that took them from one library. */
const GO_ON = { continue_final_message: true, add_generation_prompt: false };

/**
 * vllm: `ChatCompletionRequest` in vllm/entrypoints/openai, and its tokenize and pooling endpoints. `thinking_token_budget`
 * is only passed on: a server that was not configured for it refuses.
 *
 * sglang: `ChatCompletionRequest` in srt/entrypoints/openai/protocol.py. It has no switch for the prompt of the next turn.
 *
 * llama-server: tools/server of llama.cpp, and what a server of 2026 was seen to do: an unknown field is ignored, a tool
 * choice by name too; `json_object` holds nothing without a schema; no alternatives, no log probabilities; each choice has
 * its own usage.
 *
 * openai: the API reference. Unknown fields are refused, and `max_tokens` is by the models that think.
 */
export const SERVERS: Readonly<Record<ServerKind, Server>> = {
  vllm: {
    ...PLAIN,
    sampling: EVERYTHING,
    thinking: 'template',
    stopTokens: 'stop_token_ids',
    continuation: GO_ON,
    health: '/health',
    tokenizer: 'chat',
    forwards: [
      'allowed_token_ids',
      'bad_words',
      'cache_salt',
      'chat_template_kwargs',
      'documents',
      'ignore_eos',
      'include_stop_str_in_output',
      'length_penalty',
      'media_io_kwargs',
      'min_tokens',
      'mm_processor_kwargs',
      'priority',
      'reasoning_effort',
      'repetition_detection',
      'skip_special_tokens',
      'spaces_between_special_tokens',
      'stop_token_ids',
      'structured_outputs',
      'thinking_token_budget',
      'truncate_prompt_tokens',
      'vllm_xargs',
    ],
  },
  sglang: {
    ...PLAIN,
    sampling: EVERYTHING,
    thinking: 'template',
    stopTokens: 'stop_token_ids',
    continuation: { continue_final_message: true },
    health: '/health',
    tokenizer: 'chat',
    detokenizesMany: true,
    forwards: [
      'cache_salt',
      'chat_template_kwargs',
      'custom_params',
      'ebnf',
      'extra_key',
      'ignore_eos',
      'lora_path',
      'max_dynamic_patch',
      'min_dynamic_patch',
      'min_tokens',
      'no_stop_trim',
      'priority',
      'reasoning_effort',
      'regex',
      'session_params',
      'skip_special_tokens',
      'stop_regex',
      'stop_token_ids',
    ],
  },
  'llama-server': {
    ...PLAIN,
    sampling: { ...EVERYTHING, repetitionPenalty: 'repeat_penalty' },
    thinking: 'template',
    thinkingBudget: 'thinking_budget_tokens',
    namesTool: false,
    jsonObject: { type: 'json_object', schema: { type: 'object' } },
    topLogprobsMin: 1,
    usagePerChoice: true,
    health: '/health',
    tokenizer: 'prompt',
    scoresAreLogits: true,
    forwards: [
      'adaptive_decay',
      'adaptive_target',
      'cache_prompt',
      'chat_template_kwargs',
      'dry_allowed_length',
      'dry_base',
      'dry_multiplier',
      'dry_penalty_last_n',
      'dry_sequence_breakers',
      'dynatemp_exponent',
      'dynatemp_range',
      'grammar',
      'ignore_eos',
      'json_schema',
      'lora',
      'min_keep',
      'mirostat',
      'mirostat_eta',
      'mirostat_tau',
      'n_keep',
      'reasoning_budget_message',
      'reasoning_effort',
      'repeat_last_n',
      'samplers',
      't_max_predict_ms',
      'thinking_budget_tokens',
      'top_n_sigma',
      'typical_p',
      'xtc_probability',
      'xtc_threshold',
    ],
  },
  openai: {
    ...PLAIN,
    sampling: FORMAT,
    thinking: 'effort',
    maxTokens: 'max_completion_tokens',
    ranks: false,
    forwards: [
      'metadata',
      'prediction',
      'prompt_cache_key',
      'prompt_cache_retention',
      'reasoning_effort',
      'safety_identifier',
      'service_tier',
      'store',
      'user',
      'verbosity',
    ],
  },
  unknown: { ...PLAIN, sampling: EVERYTHING, forwards: [] },
};
