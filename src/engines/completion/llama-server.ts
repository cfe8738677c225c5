import type { Sampling } from '../../core/request.ts';
import { present } from '../../lib/present.ts';
import type { Dialect, PhaseCall } from './dialect.ts';
import { createLlamaAnswer } from './llama-answer.ts';
import { llamaFacts } from './llama-facts.ts';
import { createLlamaTokens } from './llama-tokens.ts';

/** What is read of the last event, which would otherwise hold the whole prompt, too. */
const LAST_FIELDS = [
  'stop',
  'stop_type',
  'content',
  'tokens',
  'tokens_predicted',
  'timings',
  'completion_probabilities',
];

/**
 * llama.cpp's own server by its own `/completion` (tools/server/README.md there, and a server of 2026 as it was seen to
 * behave). Its log probabilities are those before sampling, under a grammar too.
 */
export const LLAMA_SERVER: Dialect = {
  capabilities: { logprobs: true, grammar: true },
  path: '/completion',
  tellsTaken: true,
  tokens: createLlamaTokens,
  body: ({ prompt, tokensMax, sampling, gbnf, logprobs }: PhaseCall, model) => ({
    model,
    prompt,
    n_predict: tokensMax,
    stream: true,
    cache_prompt: true,
    // Its first event then comes before the prompt is computed, and says what of it is in the cache.
    return_progress: true,
    return_tokens: true,
    response_fields: LAST_FIELDS,
    ...toSampling(sampling),
    ...(gbnf === undefined ? {} : { grammar: gbnf }),
    // Without an alternative it does not tell of the token itself either.
    ...(logprobs ? { n_probs: Math.max(1, logprobs.top) } : {}),
  }),
  answer: createLlamaAnswer,
  discover: llamaFacts,
};

/** What is absent is as the server was started. */
const toSampling = ({ logitBias, ...sampling }: Sampling): object =>
  present({
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
