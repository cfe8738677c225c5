import type { Sampling } from '../../core/request.ts';
import { present } from '../../lib/present.ts';

/**
 * Sampling in the words that vLLM and SGLang share; only the seed's name differs. What is absent is as the server was
 * started: mostly from the model's own generation_config.json.
 */
export const samplingWords = (
  { logitBias, topK, ...sampling }: Sampling,
  { seed }: { readonly seed: 'seed' | 'sampling_seed' },
): object =>
  present({
    temperature: sampling.temperature,
    top_p: sampling.topP,
    // −1 is the one spelling of "off" that every version takes.
    top_k: topK === 0 ? -1 : topK,
    min_p: sampling.minP,
    repetition_penalty: sampling.repetitionPenalty,
    presence_penalty: sampling.presencePenalty,
    frequency_penalty: sampling.frequencyPenalty,
    [seed]: sampling.seed,
    logit_bias: logitBias && logitBias.size > 0 ? Object.fromEntries(logitBias) : undefined,
  });

/**
 * Whether their texts hold special tokens. They do where some of them mark calls or thoughts: the text then says where
 * each of them stands, also where many tokens come in one event. What ends an answer is in no text all the same.
 */
export const specialWords = (markers: ReadonlyMap<number, string>): object =>
  markers.size > 0 ? { skip_special_tokens: false, spaces_between_special_tokens: false } : {};
