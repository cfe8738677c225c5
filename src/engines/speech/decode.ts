import type { HotwordBias } from './hotword-bias.ts';
import { repeatedTail } from './repetition.ts';
import { drawn, highest, logSum } from './scores.ts';
import type { Reading, Step } from './whisper-model.ts';
import type { WhisperTokens } from './whisper-tokens.ts';

export interface DecodeRequest {
  /** Knows all tokens before the text but these. */
  readonly reading: Reading;
  /** The last tokens before the text; not empty. */
  readonly head: readonly number[];
  readonly bias?: HotwordBias | undefined;
  /** 0: the likeliest token each time. */
  readonly temperature: number;
  /** From 0 to below 1; asked for each token where the temperature is above 0. */
  readonly random: () => number;
  readonly tokensMax: number;
  readonly keepsAttention: boolean;
}

/** What one reading brought. */
export interface Decoded {
  /** Of text, without the end. Where they repeated themselves without end, they stop behind the first time. */
  readonly tokens: readonly number[];
  /** Mean natural logarithm of the model's own probabilities, the end's included. */
  readonly logProbability: number;
  /** Tokens generated. */
  readonly generated: number;
  readonly isLooping: boolean;
  /** For each token of the text and its end: where the model looked to find it. */
  readonly attention: readonly Float32Array[];
}

/** Reads a text token by token, until the model ends it. @throws the signal's reason between two tokens. */
export async function decode(
  { reading, head, bias, temperature, random, tokensMax, keepsAttention }: DecodeRequest,
  tokens: WhisperTokens,
  signal: AbortSignal,
): Promise<Decoded> {
  const text: number[] = [];
  const attention: Float32Array[] = [];
  let logProbabilities = 0;
  let generated = 0;
  let repeated = 0;

  const step = async (next: readonly number[]): Promise<Step> => {
    signal.throwIfAborted();
    const result = await reading.step(next);
    if (keepsAttention) attention.push(result.attention());
    return result;
  };

  for (let { scores } = await step(head); ;) {
    // Whatever is special is no text; only the end is allowed of it, and never first.
    const allowed = scores.subarray(0, tokens.end + 1);
    for (const token of tokens.suppressed) if (token < tokens.end) allowed[token] = -Infinity;
    if (text.length === 0) for (const token of tokens.suppressedFirst) allowed[token] = -Infinity;
    const best = temperature === 0 ? highest(allowed) : drawn(allowed, temperature, random());
    const token = bias && temperature === 0 ? bias.choose(allowed, best) : best;
    logProbabilities += (allowed[token] ?? -Infinity) - logSum(allowed);
    generated++;
    if (token === tokens.end) break;
    bias?.take(token);
    text.push(token);
    repeated = repeatedTail(text);
    if (repeated > 0 || text.length >= tokensMax) break;
    ({ scores } = await step([token]));
  }
  const kept = text.slice(0, text.length - repeated);
  return {
    tokens: kept,
    logProbability: logProbabilities / generated,
    generated,
    isLooping: repeated > 0,
    attention: attention.slice(0, kept.length + 1),
  };
}
