import type { Sampling } from '../../core/request.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import type { CompletionDialect, PhaseCall } from './completion-dialect.ts';
import { createLlamaResponseParser } from './llama-response-parser.ts';
import { discoverLlamaServer } from './discover-llama-server.ts';
import { createLlamaTokenizer } from './llama-tokenizer.ts';

/** Fields of the last event; by default it also holds the whole prompt. */
const FINAL_EVENT_FIELDS = [
  'stop',
  'stop_type',
  'content',
  'tokens',
  'tokens_predicted',
  'timings',
  'completion_probabilities',
];

/**
 * llama-server with its own `/completion` route (tools/server/README.md of llama.cpp, and a server of 2026 as tested). Its
 * log probabilities are those before sampling, also with a grammar; it reports none for the prompt.
 */
export const LLAMA_DIALECT: CompletionDialect = {
  capabilities: { logprobs: true, promptLogprobs: false, grammar: true },
  penalizesPrompt: true,
  path: '/completion',
  reportsAcceptance: true,
  createTokenizer: createLlamaTokenizer,
  encodeBody: ({ prompt, tokensMax, sampling, gbnf, logprobs }: PhaseCall, model) => ({
    model,
    prompt,
    n_predict: tokensMax,
    stream: true,
    cache_prompt: true,
    // Sends a first event before the prompt is computed, with the number of cached tokens.
    return_progress: true,
    return_tokens: true,
    response_fields: FINAL_EVENT_FIELDS,
    ...encodeLlamaSampling(sampling),
    ...(gbnf === undefined ? {} : { grammar: gbnf }),
    // For 0 alternatives, the server reports no log probability of the chosen token either.
    ...(logprobs ? { n_probs: Math.max(1, logprobs.top) } : {}),
  }),
  createParser: createLlamaResponseParser,
  discover: discoverLlamaServer,
};

/** Absent options keep the defaults that the server was started with. */
const encodeLlamaSampling = ({ logitBias, ...sampling }: Sampling): object =>
  omitNullish({
    temperature: sampling.temperature,
    top_p: sampling.topP,
    top_k: sampling.topK,
    min_p: sampling.minP,
    repeat_penalty: sampling.repetitionPenalty,
    presence_penalty: sampling.presencePenalty,
    frequency_penalty: sampling.frequencyPenalty,
    seed: sampling.seed,
    logit_bias: logitBias && logitBias.size > 0 ? [...logitBias] : undefined,
  });
