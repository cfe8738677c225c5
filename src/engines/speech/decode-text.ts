import type { HotwordBias } from './hotword-bias.ts';
import { countRepeatedTail } from './repetition.ts';
import { restrictScores } from './restrict-scores.ts';
import { sampleIndex, findBestIndex, logSumExp } from './scores.ts';
import type { DecoderSession } from './whisper-model.ts';
import type { WhisperTokens } from './whisper-tokens.ts';

export interface DecodeTextRequest {
  /** A session that has processed all prompt tokens except `promptTokens`. */
  readonly session: DecoderSession;
  /** The last prompt tokens; not empty. */
  readonly promptTokens: readonly number[];
  readonly bias?: HotwordBias | undefined;
  /** A text that is known already: its tokens are taken, to compute their probability and attention. */
  readonly knownText?: readonly number[] | undefined;
  /** 0: always takes the likeliest token. */
  readonly temperature: number;
  /** Returns numbers from 0 to below 1. Called for each token if the temperature is above 0. */
  readonly random: () => number;
  readonly tokensMax: number;
  readonly includeAttention: boolean;
}

/** Result of one decoding attempt. */
export interface DecodingResult {
  /** Text tokens without the end token. If the text repeats endlessly, the repetitions are cut off. */
  readonly tokens: readonly number[];
  /** Mean natural logarithm of the probabilities that the model gave the tokens, including the end token. */
  readonly logProbability: number;
  /** Number of tokens generated. */
  readonly generated: number;
  readonly isLooping: boolean;
  /** Attention of the decoder to the audio for each text token and the end token. */
  readonly attention: readonly Float32Array[];
}

/** State of a decoding attempt after some tokens. */
interface DecoderPosition {
  readonly session: DecoderSession;
  /** Scores of the next token. Special tokens other than the end token have none. */
  readonly scores: Float32Array;
  readonly text: readonly number[];
  readonly attention: readonly Float32Array[];
  readonly logProbabilities: number;
}

/**
 * Decodes a text token by token until the model ends it.
 * @throws the signal's reason between two tokens.
 */
export async function decodeText(
  { session, promptTokens, bias, knownText, temperature, random, tokensMax, includeAttention }: DecodeTextRequest,
  tokens: WhisperTokens,
  signal: AbortSignal,
): Promise<DecodingResult> {
  let position: DecoderPosition = {
    session: session,
    scores: new Float32Array(0),
    text: [],
    attention: [],
    logProbabilities: 0,
  };
  let beforeTrial: DecoderPosition | undefined;
  let generated = 0;
  let repeatedTokens = 0;

  const runStep = async (next: readonly number[], from: DecoderPosition): Promise<DecoderPosition> => {
    signal.throwIfAborted();
    const { scores, attention } = await from.session.step(next);
    const allowed = knownText
      ? scores.subarray(0, tokens.endOfText + 1)
      : restrictScores(scores, tokens, { isAtStart: from.text.length === 0 });
    return { ...from, scores: allowed, attention: includeAttention ? [...from.attention, attention()] : [] };
  };

  position = await runStep(promptTokens, position);
  for (;;) {
    const best = knownText
      ? (knownText[position.text.length] ?? tokens.endOfText)
      : temperature === 0
        ? findBestIndex(position.scores)
        : sampleIndex(position.scores, temperature, random());
    const decision = bias && temperature === 0 ? bias.decide(position.scores, best) : undefined;
    let token = best;
    let ahead: DecoderPosition | undefined;
    if (decision?.type === 'boost') {
      token = decision.token;
      if (decision.isFirst) {
        beforeTrial = { ...position, session: position.session.fork() };
        // Another word may precede the hotword; boosting the hotword at once would replace that word.
        if (best !== tokens.endOfText) ahead = await runStep([best], { ...position, session: position.session.fork() });
        if (ahead && bias?.shouldPostpone(token, ahead.scores)) token = best;
      }
    } else if (decision?.type === 'rollback' && beforeTrial) {
      position = beforeTrial;
      token = findBestIndex(position.scores);
    }
    position = {
      ...position,
      logProbabilities: position.logProbabilities + (position.scores[token] ?? -Infinity) - logSumExp(position.scores),
    };
    generated++;
    if (token === tokens.endOfText) break;
    bias?.accept(token);
    position = { ...position, text: [...position.text, token] };
    repeatedTokens = countRepeatedTail(position.text);
    if (repeatedTokens > 0 || position.text.length >= tokensMax) break;
    position =
      ahead && token === best
        ? { ...ahead, text: position.text, logProbabilities: position.logProbabilities }
        : await runStep([token], position);
  }
  const { text, attention, logProbabilities } = position;
  const keptTokens = text.slice(0, text.length - repeatedTokens);
  return {
    tokens: keptTokens,
    logProbability: logProbabilities / (text.length + (repeatedTokens > 0 || text.length >= tokensMax ? 0 : 1)),
    generated,
    isLooping: repeatedTokens > 0,
    attention: attention.slice(0, keptTokens.length + 1),
  };
}
