import { z } from 'zod';
import type { ModelEntry } from '../../../catalogue/model.ts';
import { CHOICES_MAX, JSON_VALUES_MAX } from '../../../core/limits.ts';
import { TOP_LOGPROBS_MAX } from '../../limits.ts';
import { PROMPTS_MAX } from '../limits.ts';
import { PARAMETERS, STOP_FORMS, TokenId } from '../../fields/parameter-schema.ts';
import { createParameterTexts } from '../../fields/parameter-texts.ts';
import { failFastArray } from '../../fail-fast-array.ts';
import type { RuleTexts } from '../../parse.ts';

// Fields with their documented types and ranges (docs/wire/openai-compatible.md#completions), and fields that OpenAI
// clients send on this path. Every optional field may be null.

const TokenPrompt = failFastArray(TokenId, { min: 1, max: JSON_VALUES_MAX });

const PromptForms = z.union([
  z.string(),
  failFastArray(z.string(), { min: 1, max: PROMPTS_MAX }),
  TokenPrompt,
  failFastArray(TokenPrompt, { min: 1, max: PROMPTS_MAX }),
]);

/** The number of prompts is checked first: otherwise the union would report an error in the first prompt. */
const Prompt = z
  .unknown()
  .refine((prompt) => !Array.isArray(prompt) || typeof prompt[0] === 'number' || prompt.length <= PROMPTS_MAX)
  .pipe(PromptForms);

export const CompletionBody = z.object({
  model: z.string().min(1),
  prompt: Prompt,
  suffix: z.string().nullish(),
  enable_search: PARAMETERS.enable_search,
  /** 0, with `echo`: only the prompt. */
  max_tokens: z.int().min(0).nullish(),
  temperature: PARAMETERS.temperature,
  top_p: PARAMETERS.top_p,
  top_k: PARAMETERS.top_k,
  min_p: PARAMETERS.min_p,
  presence_penalty: PARAMETERS.presence_penalty,
  frequency_penalty: PARAMETERS.frequency_penalty,
  repetition_penalty: PARAMETERS.repetition_penalty,
  logit_bias: PARAMETERS.logit_bias,
  seed: PARAMETERS.seed,
  n: PARAMETERS.n,
  best_of: z.int().min(1).max(CHOICES_MAX).nullish(),
  stop: z.union(STOP_FORMS).nullish(),
  echo: z.boolean().nullish(),
  logprobs: z.int().min(0).max(TOP_LOGPROBS_MAX).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  /** Identifies the end user; does not affect the response. */
  user: z.string().nullish(),
});

export type CompletionWire = z.output<typeof CompletionBody>;

/** The model is resolved before the other fields are parsed, because error texts contain its limits. */
export const ModelOnly = CompletionBody.pick({ model: true });

const PROMPT = `prompt must be a string, a list of token ids, or a list of 1 to ${PROMPTS_MAX} of either`;

/** Returns the error texts, with the limits of a model (docs/wire/openai-compatible.md#errors). */
export const createCompletionTexts = (entry: ModelEntry): RuleTexts => ({
  ...createParameterTexts(entry),
  prompt: PROMPT,
  'prompt[]': PROMPT,
  'prompt[][]': PROMPT,
  logprobs: `Range of logprobs should be [0, ${TOP_LOGPROBS_MAX}]`,
  best_of: `Range of best_of should be [1, ${CHOICES_MAX}]`,
});
