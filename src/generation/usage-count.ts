import { addTokenCounts, type Usage } from '../core/event.ts';
import type { EngineRun } from '../engines/engine.ts';

/** Tokens of a request whose engine run may be replaced by another one. */
export interface UsageCount {
  /** Counts tokens that the current run generated. */
  addOutput(kind: 'text' | 'reasoning', tokens: number): void;
  /**
   * Returns the usage of all runs.
   * @param reported Usage of the current run as its engine reports it; default: what the events show.
   */
  sumRuns(reported?: Usage): Usage;
  /** Ends the current run, whose usage the events show. */
  endRun(): void;
  /** Counts for the next run from now on. */
  startRun(run: PromptCount): void;
}

type PromptCount = Pick<EngineRun, 'promptTokens' | 'cachedTokens'>;

export function createUsageCount(first: PromptCount): UsageCount {
  let run = first;
  let outputTokens = 0;
  let reasoningTokens = 0;
  let endedRuns: Usage | undefined;

  const getMeasuredUsage = (): Usage => ({
    promptTokens: run.promptTokens ?? 0,
    cachedTokens: run.cachedTokens ?? 0,
    completionTokens: outputTokens,
    ...(reasoningTokens > 0 ? { reasoningTokens } : {}),
  });

  return {
    addOutput(kind, tokens) {
      outputTokens += tokens;
      if (kind === 'reasoning') reasoningTokens += tokens;
    },
    sumRuns: (reported = getMeasuredUsage()) => (endedRuns ? addUsage(endedRuns, reported) : reported),
    endRun() {
      endedRuns = getMeasuredUsage();
      outputTokens = 0;
      reasoningTokens = 0;
    },
    startRun(next) {
      run = next;
    },
  };
}

const addUsage = (first: Usage, second: Usage): Usage => ({
  ...second,
  ...addTokenCounts(first, second),
  ...(first.reasoningTokens === undefined && second.reasoningTokens === undefined
    ? {}
    : { reasoningTokens: (first.reasoningTokens ?? 0) + (second.reasoningTokens ?? 0) }),
});
