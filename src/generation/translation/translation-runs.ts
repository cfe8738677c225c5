import { addTokenCounts, type Usage } from '../../core/event.ts';
import { NO_STOP, type GenerationRequest, type StopConditions } from '../../core/request.ts';
import type { Generation } from '../generation.ts';
import { estimateTokensMax } from './estimate-tokens-max.ts';
import { createInstruction } from './create-instruction.ts';
import type { Language } from './languages.ts';
import type { MemoryPair } from './translation-memory.ts';
import { NO_USAGE, collectText, type TextResult } from './collect-text.ts';
import { isAnnouncement } from './extract-translation.ts';
import type { SegmentAttempt } from './translate-segment.ts';
import type { TranslationOptions } from './translation.ts';

interface TranslationRunsDeps {
  readonly generate: (request: GenerationRequest) => Promise<Generation>;
  readonly options: TranslationOptions;
  readonly source: Language | undefined;
  readonly findSimilar: (text: string) => readonly MemoryPair[];
  /** Called when an engine has accepted a run. */
  readonly onStart: () => void;
}

/** Model runs of one translation, with their total usage. */
export interface TranslationRuns {
  /** @param usedTokens Tokens of the caller's limit that are used but not yet consumed by `consumeTokens`. */
  run(attempt: SegmentAttempt, usedTokens?: number): Promise<TextResult>;
  /** Usage of all runs, including rejected answers. */
  usage(): Usage;
  count(): number;
  /** Request fields that every run ignored. */
  ignored(): readonly string[];
  /** The caller set a token limit. */
  readonly isLimited: boolean;
  /** Subtracts the tokens of an accepted answer from the caller's limit. */
  consumeTokens(tokens: number): void;
  /** The caller's token limit is used up. */
  isLimitReached(): boolean;
}

interface RunLimits {
  readonly usedTokens: number;
  readonly lengthFactor: number;
}

/** Factor by which the length limit grows in a second run. */
const RETRY_LENGTH_FACTOR = 4;

export function createTranslationRuns(
  request: GenerationRequest,
  { generate, options, source, findSimilar, onStart }: TranslationRunsDeps,
): TranslationRuns {
  const { maxTokens = Infinity, maxTotalTokens = Infinity } = request;
  const ignored = new Set<string>();
  let tokensLeft = Math.min(maxTokens, maxTotalTokens);
  let usage = NO_USAGE;
  let count = 0;

  /** `lengthFactor` multiplies the length limit of an answer. */
  const runOnce = async (
    attempt: SegmentAttempt,
    stop: StopConditions,
    { usedTokens, lengthFactor }: RunLimits,
  ): Promise<TextResult> => {
    const tokensAllowed = tokensLeft - usedTokens;
    if (tokensAllowed <= 0) return { text: '', reason: 'length', usage: NO_USAGE };
    const { text } = attempt;
    const { maxTotalTokens: _total, logprobs: _logprobs, outputFormat: _format, ...plain } = request;
    const { target, domains } = options;
    const tokensExpectedMax = lengthFactor * estimateTokensMax(text, target);
    const generation = await generate({
      ...plain,
      messages: createInstruction({ ...attempt, source, target, examples: findSimilar(text), domains }),
      stop,
      maxTokens: Math.min(tokensAllowed, tokensExpectedMax),
    });
    // The limit of each run is Parley's own; the caller's limit applies to all runs together.
    for (const name of generation.ignored) if (name !== 'max_tokens(clamped)') ignored.add(name);
    onStart();
    const runResult = await collectText(generation.batches);
    usage = addTokenCounts(usage, runResult.usage);
    count++;
    const isCutByParley =
      runResult.reason === 'length' &&
      tokensExpectedMax < tokensAllowed &&
      runResult.usage.completionTokens >= tokensExpectedMax;
    if (!isCutByParley) return runResult;
    if (lengthFactor === 1) return await runOnce(attempt, stop, { usedTokens, lengthFactor: RETRY_LENGTH_FACTOR });
    // An endless answer was stopped by Parley's limit, not by the caller's.
    return { ...runResult, reason: 'stop' };
  };

  return {
    async run(attempt, usedTokens = 0) {
      const limits = { usedTokens, lengthFactor: 1 };
      const result = await runOnce(attempt, STOP_AT_LINE_END, limits);
      // An empty first line, or the announcement of a translation, is no answer yet.
      const isUnfinished =
        result.text.trim() === '' || (result.reason === 'stop' && isAnnouncement(result.text, attempt.text));
      return isUnfinished && result.usage.completionTokens > 0 ? await runOnce(attempt, NO_STOP, limits) : result;
    },
    isLimited: Number.isFinite(tokensLeft),
    usage: () => usage,
    count: () => count,
    ignored: () => [...ignored],
    consumeTokens: (tokens) => {
      tokensLeft -= tokens;
    },
    isLimitReached: () => tokensLeft <= 0,
  };
}

/** A segment is one line, and so is its translation. */
const STOP_AT_LINE_END: StopConditions = { ...NO_STOP, strings: ['\n'] };
