import type { Sampling } from '../../core/request.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';

/**
 * Encodes sampling options for vLLM and SGLang, which differ only in the name of the seed. Absent options keep the server's
 * defaults, mostly those of the model's generation_config.json.
 */
export const encodeSampling = (
  { logitBias, topK, ...sampling }: Sampling,
  { seed }: { readonly seed: 'seed' | 'sampling_seed' },
): object =>
  omitNullish({
    temperature: sampling.temperature,
    top_p: sampling.topP,
    // −1 is the value for "off" that every version accepts.
    top_k: topK === 0 ? -1 : topK,
    min_p: sampling.minP,
    repetition_penalty: sampling.repetitionPenalty,
    presence_penalty: sampling.presencePenalty,
    frequency_penalty: sampling.frequencyPenalty,
    [seed]: sampling.seed,
    logit_bias: logitBias && logitBias.size > 0 ? Object.fromEntries(logitBias) : undefined,
  });

/**
 * Encodes whether generated text contains special tokens. It does if some of them mark calls or thoughts: the text then
 * shows their positions even when one event has many tokens. The token that ends an answer is never in the text.
 */
export const encodeSpecialTokenFields = (markers: ReadonlyMap<number, string>): object =>
  markers.size > 0 ? { skip_special_tokens: false, spaces_between_special_tokens: false } : {};
