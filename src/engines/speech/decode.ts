import type { HotwordBias } from './hotword-bias.ts';
import { repeatedTail } from './repetition.ts';
import { drawn, highest, logSum } from './scores.ts';
import type { Reading } from './whisper-model.ts';
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

/** Where a reading is. */
interface Place {
  readonly reading: Reading;
  /** Of what comes next; what is no text has none. */
  readonly scores: Float32Array;
  readonly text: readonly number[];
  readonly attention: readonly Float32Array[];
  readonly logProbabilities: number;
}

/** Reads a text token by token, until the model ends it. @throws the signal's reason between two tokens. */
export async function decode(
  { reading, head, bias, temperature, random, tokensMax, keepsAttention }: DecodeRequest,
  tokens: WhisperTokens,
  signal: AbortSignal,
): Promise<Decoded> {
  let at: Place = { reading, scores: new Float32Array(0), text: [], attention: [], logProbabilities: 0 };
  let beforeTrial: Place | undefined;
  let generated = 0;
  let repeated = 0;

  const step = async (next: readonly number[], from: Place): Promise<Place> => {
    signal.throwIfAborted();
    const { scores, attention } = await from.reading.step(next);
    // Whatever is special is no text; only the end is allowed of it, and never first.
    const allowed = scores.subarray(0, tokens.end + 1);
    for (const token of tokens.suppressed) if (token < tokens.end) allowed[token] = -Infinity;
    if (from.text.length === 0) for (const token of tokens.suppressedFirst) allowed[token] = -Infinity;
    return { ...from, scores: allowed, attention: keepsAttention ? [...from.attention, attention()] : [] };
  };

  at = await step(head, at);
  for (;;) {
    const best = temperature === 0 ? highest(at.scores) : drawn(at.scores, temperature, random());
    const choice = bias && temperature === 0 ? bias.choose(at.scores, best) : undefined;
    let token = best;
    let ahead: Place | undefined;
    if (choice?.type === 'help') {
      token = choice.token;
      if (choice.isFirst) {
        beforeTrial = { ...at, reading: at.reading.fork() };
        // A word may stand before the hotword: helped at once, the hotword would swallow it.
        if (best !== tokens.end) ahead = await step([best], { ...at, reading: at.reading.fork() });
        if (ahead && bias?.isLater(token, ahead.scores)) token = best;
      }
    } else if (choice?.type === 'back' && beforeTrial) {
      at = beforeTrial;
      token = highest(at.scores);
    }
    at = { ...at, logProbabilities: at.logProbabilities + (at.scores[token] ?? -Infinity) - logSum(at.scores) };
    generated++;
    if (token === tokens.end) break;
    bias?.take(token);
    at = { ...at, text: [...at.text, token] };
    repeated = repeatedTail(at.text);
    if (repeated > 0 || at.text.length >= tokensMax) break;
    at =
      ahead && token === best
        ? { ...ahead, text: at.text, logProbabilities: at.logProbabilities }
        : await step([token], at);
  }
  const { text, attention, logProbabilities } = at;
  const kept = text.slice(0, text.length - repeated);
  return {
    tokens: kept,
    logProbability: logProbabilities / (text.length + (repeated > 0 || text.length >= tokensMax ? 0 : 1)),
    generated,
    isLooping: repeated > 0,
    attention: attention.slice(0, kept.length + 1),
  };
}
