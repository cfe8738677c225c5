import type { DecodeTextRequest, DecodingResult } from './decode-text.ts';
import { countRepeatedTail } from './repetition.ts';
import { restrictScores } from './restrict-scores.ts';
import { findBestIndexes, logSumExp } from './scores.ts';
import type { DecoderStep } from './whisper-model.ts';
import type { WhisperTokens } from './whisper-tokens.ts';

export interface BeamSearchRequest extends Pick<
  DecodeTextRequest,
  'session' | 'promptTokens' | 'tokensMax' | 'includeAttention'
> {
  /** Number of texts that are continued side by side, at least 1. */
  readonly width: number;
}

/** Beginning of a text. */
interface Hypothesis {
  readonly text: readonly number[];
  /** Sum of the natural logarithms of the token probabilities. */
  readonly logProbabilities: number;
  readonly attention: readonly Float32Array[];
}

/** A hypothesis with the scores of its next token. */
interface OpenHypothesis extends Hypothesis {
  readonly scores: Float32Array;
}

interface FinishedHypothesis extends Hypothesis {
  /** Tokens that `logProbabilities` covers: the text and, unless the search cut it, the end token. */
  readonly scoredTokens: number;
  /** Number of tokens at the end of the text that repeat the ones before them endlessly. */
  readonly repeatedTokens: number;
}

/** A token that may follow an open hypothesis. */
interface Candidate {
  readonly parent: number;
  readonly token: number;
  /** Sum for the text including this token. */
  readonly logProbabilities: number;
}

/**
 * Decodes a text by beam search, as Whisper's reference implementation does: the `width` likeliest beginnings are
 * continued until as many texts are finished; the text with the highest log probability per token is returned. Each
 * token costs one run of the decoder for all beginnings, so that a search takes at most `tokensMax` runs. Stops earlier
 * when no open beginning can exceed the best finished text.
 * @throws the signal's reason between two tokens.
 */
export async function searchBeams(
  { session, promptTokens, width, tokensMax, includeAttention }: BeamSearchRequest,
  tokens: WhisperTokens,
  signal: AbortSignal,
): Promise<DecodingResult> {
  const openHypothesis = (hypothesis: Hypothesis, { scores, attention }: DecoderStep): OpenHypothesis => ({
    ...hypothesis,
    scores: restrictScores(scores, tokens, { isAtStart: hypothesis.text.length === 0 }),
    attention: includeAttention ? [...hypothesis.attention, attention()] : [],
  });

  signal.throwIfAborted();
  const start = { text: [], logProbabilities: 0, attention: [] };
  let open: readonly OpenHypothesis[] = [openHypothesis(start, await session.step(promptTokens))];
  const batch = session.createBatch();
  const finished: FinishedHypothesis[] = [];
  let generated = 0;
  for (;;) {
    const { continued, ended } = selectCandidates(open, { width, endOfText: tokens.endOfText });
    generated += continued.length + ended.length;
    for (const { parent, logProbabilities } of ended) {
      const { text, attention } = getItem(open, parent);
      finished.push({ text, attention, logProbabilities, scoredTokens: text.length + 1, repeatedTokens: 0 });
    }
    const next: (Hypothesis & Candidate)[] = [];
    for (const candidate of continued) {
      const { text: before, attention } = getItem(open, candidate.parent);
      const hypothesis = { ...candidate, text: [...before, candidate.token], attention };
      const repeatedTokens = countRepeatedTail(hypothesis.text);
      if (repeatedTokens === 0 && hypothesis.text.length < tokensMax) next.push(hypothesis);
      else finished.push({ ...hypothesis, scoredTokens: hypothesis.text.length, repeatedTokens });
    }
    if (next.length === 0 || finished.length >= width || !canImprove(next, finished, tokensMax)) break;
    signal.throwIfAborted();
    const steps = await batch.step(next);
    open = next.map((hypothesis, at) => openHypothesis(hypothesis, getItem(steps, at)));
  }
  return toDecodingResult(findBest(finished), generated);
}

/**
 * Selects the likeliest candidates: `width` that continue a text, and the ends of texts that are likelier than the last
 * of these. Equally likely candidates keep the order of their hypotheses and tokens.
 */
function selectCandidates(
  open: readonly OpenHypothesis[],
  { width, endOfText }: { readonly width: number; readonly endOfText: number },
): { readonly continued: readonly Candidate[]; readonly ended: readonly Candidate[] } {
  const candidates = open.flatMap(({ scores, logProbabilities }, parent): Candidate[] => {
    const total = logSumExp(scores);
    return findBestIndexes(scores, width + 1).map((token) => ({
      parent,
      token,
      logProbabilities: logProbabilities + (scores[token] ?? -Infinity) - total,
    }));
  });
  candidates.sort((a, b) => b.logProbabilities - a.logProbabilities);
  const continued: Candidate[] = [];
  const ended: Candidate[] = [];
  for (const candidate of candidates) {
    if (continued.length === width || candidate.logProbabilities === -Infinity) break;
    (candidate.token === endOfText ? ended : continued).push(candidate);
  }
  return { continued, ended };
}

/** Log probability per token of the text: longer texts are not at a disadvantage. */
const rate = ({ text, logProbabilities }: Hypothesis): number => logProbabilities / Math.max(1, text.length);

/** Returns whether an open hypothesis exceeds the best finished one if all tokens that it can still get are certain. */
function canImprove(open: readonly Hypothesis[], finished: readonly FinishedHypothesis[], tokensMax: number): boolean {
  if (finished.length === 0) return true;
  const best = rate(findBest(finished));
  return open.some(({ logProbabilities }) => logProbabilities / tokensMax > best);
}

const findBest = (finished: readonly FinishedHypothesis[]): FinishedHypothesis =>
  finished.reduce((best, each) => (rate(each) > rate(best) ? each : best));

function toDecodingResult(
  { text, logProbabilities, attention, scoredTokens, repeatedTokens }: FinishedHypothesis,
  generated: number,
): DecodingResult {
  const keptTokens = text.slice(0, text.length - repeatedTokens);
  return {
    tokens: keptTokens,
    logProbability: logProbabilities / scoredTokens,
    generated,
    isLooping: repeatedTokens > 0,
    attention: attention.slice(0, keptTokens.length + 1),
  };
}

function getItem<Item>(items: readonly Item[], at: number): Item {
  const item = items[at];
  if (item === undefined) throw new RangeError(`there is no item ${at} among ${items.length}`);
  return item;
}
