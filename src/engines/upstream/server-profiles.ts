import type { Sampling } from '../../core/request.ts';
import type { ServerKind } from '../../core/server-kind.ts';

/** Extensions of one kind of server to the chat-completions format, and the names of their fields. */
export interface ServerProfile {
  /** Field names of sampling options. The server ignores or refuses options that are not listed. */
  readonly samplingFields: Readonly<Partial<Record<keyof Sampling, string>>>;
  /**
   * How a request switches thinking: `template`: by arguments of the chat template; `effort`: by `reasoning_effort`.
   * Absent: not at all.
   */
  readonly thinkingControl?: 'template' | 'effort';
  /** Field that limits the tokens of reasoning. */
  readonly thinkingBudgetField?: string;
  /** Field that limits the answer, reasoning included. Absent: `max_tokens` and `max_completion_tokens` are sent. */
  readonly maxTokensField?: string;
  /** Field for single token ids that end an answer. */
  readonly stopTokensField?: string;
  /** Fields that make the server continue the last message. */
  readonly continuationFields?: object;
  /** A request can force a tool by name; otherwise only that tool is offered, and a call is required. */
  readonly canForceTool: boolean;
  /** Response format for a JSON object of any shape. */
  readonly jsonObjectFormat: object;
  /** Smallest number of alternatives with which the server sends log probabilities. */
  readonly topLogprobsMin: number;
  /** Each choice has its own usage. */
  readonly hasUsagePerChoice: boolean;
  /** Path of the health route. Absent: the list of models is requested. */
  readonly healthPath?: string;
  /** How the server counts tokens: `chat`: of a chat; `prompt`: of a prompt that must be rendered first. Absent: not at all. */
  readonly tokenizer?: 'chat' | 'prompt';
  /** One request returns the texts of many single tokens. */
  readonly canDetokenizeBatch: boolean;
  readonly canRank: boolean;
  /** Ranking scores are logits and not probabilities. */
  readonly hasLogitScores: boolean;
  /** Further supported request fields. None of them changes the meaning of the response's events. */
  readonly forwardedFields: readonly string[];
}

const OPENAI_SAMPLING = {
  temperature: 'temperature',
  topP: 'top_p',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  logitBias: 'logit_bias',
  seed: 'seed',
} as const satisfies ServerProfile['samplingFields'];

const EXTENDED_SAMPLING = {
  ...OPENAI_SAMPLING,
  topK: 'top_k',
  minP: 'min_p',
  repetitionPenalty: 'repetition_penalty',
} as const satisfies ServerProfile['samplingFields'];

const DEFAULTS = {
  canForceTool: true,
  jsonObjectFormat: { type: 'json_object' },
  topLogprobsMin: 0,
  hasUsagePerChoice: false,
  canDetokenizeBatch: false,
  canRank: true,
  hasLogitScores: false,
} as const satisfies Partial<ServerProfile>;

/** Fields of vLLM (from the transformers library) that continue the last message instead of starting a new turn. */
const CONTINUE_FINAL_MESSAGE = { continue_final_message: true, add_generation_prompt: false };

/**
 * Sources of the profiles:
 *
 * - vllm: `ChatCompletionRequest` in vllm/entrypoints/openai, and its tokenize and pooling endpoints.
 *   `thinking_token_budget` is only forwarded: a server that was not configured for it refuses it.
 * - sglang: `ChatCompletionRequest` in srt/entrypoints/openai/protocol.py. It has no `add_generation_prompt`.
 * - llama-server: tools/server of llama.cpp, and a server of 2026 as tested: it ignores unknown fields and a tool choice by
 *   name; `json_object` enforces nothing without a schema; no alternatives, no log probabilities; each choice has its own
 *   usage.
 * - openai: the API reference. Unknown fields are refused, and thinking models refuse `max_tokens`.
 */
export const SERVER_PROFILES: Readonly<Record<ServerKind, ServerProfile>> = {
  vllm: {
    ...DEFAULTS,
    samplingFields: EXTENDED_SAMPLING,
    thinkingControl: 'template',
    stopTokensField: 'stop_token_ids',
    continuationFields: CONTINUE_FINAL_MESSAGE,
    healthPath: '/health',
    tokenizer: 'chat',
    forwardedFields: [
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
    ...DEFAULTS,
    samplingFields: EXTENDED_SAMPLING,
    thinkingControl: 'template',
    stopTokensField: 'stop_token_ids',
    continuationFields: { continue_final_message: true },
    healthPath: '/health',
    tokenizer: 'chat',
    canDetokenizeBatch: true,
    forwardedFields: [
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
    ...DEFAULTS,
    samplingFields: { ...EXTENDED_SAMPLING, repetitionPenalty: 'repeat_penalty' },
    thinkingControl: 'template',
    thinkingBudgetField: 'thinking_budget_tokens',
    // It continues a last message of the assistant without being told to.
    continuationFields: {},
    canForceTool: false,
    jsonObjectFormat: { type: 'json_object', schema: { type: 'object' } },
    topLogprobsMin: 1,
    hasUsagePerChoice: true,
    healthPath: '/health',
    tokenizer: 'prompt',
    hasLogitScores: true,
    forwardedFields: [
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
    ...DEFAULTS,
    samplingFields: OPENAI_SAMPLING,
    thinkingControl: 'effort',
    maxTokensField: 'max_completion_tokens',
    canRank: false,
    forwardedFields: [
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
  unknown: { ...DEFAULTS, samplingFields: EXTENDED_SAMPLING, forwardedFields: [] },
};
