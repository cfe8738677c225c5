import type { Usage } from '../../core/event.ts';
import { NO_STOP } from '../../core/request.ts';
import type { GenerationRequest, Stop } from '../../core/request.ts';
import type { Generation } from '../generation.ts';
import { instructionFor } from './instruction.ts';
import type { Language } from './languages.ts';
import type { MemoryPair } from './memory.ts';
import { addUsage, NO_USAGE, runText } from './run-text.ts';
import type { RunText } from './run-text.ts';
import type { Attempt } from './translate-segment.ts';
import type { TranslationOptions } from './translation.ts';

interface Needs {
  readonly generate: (request: GenerationRequest) => Promise<Generation>;
  readonly options: TranslationOptions;
  readonly source: Language | undefined;
  readonly near: (text: string) => readonly MemoryPair[];
  /** Called when an engine has taken a run in. */
  readonly onStart: () => void;
}

/** The runs of one translation, and what they took together. */
export interface Runs {
  run(attempt: Attempt): Promise<RunText>;
  /** Of all runs, those whose answer was not taken included. */
  usage(): Usage;
  count(): number;
  /** What no run heard of the request. */
  ignored(): readonly string[];
  /** The caller has a token limit. */
  readonly isLimited: boolean;
  /** Takes tokens of an answer that was taken off the caller's limit. */
  spend(tokens: number): void;
  /** The caller's token limit is used up. */
  isSpent(): boolean;
}

/** Ours: tokens that an answer may have beyond this many for each character of the text; what is longer has run away. */
const ANSWER_TOKENS_PER_CHARACTER = 2;
const ANSWER_TOKENS_BESIDE = 64;

export function createRuns(request: GenerationRequest, { generate, options, source, near, onStart }: Needs): Runs {
  const { maxTokens = Infinity, maxTotalTokens = Infinity } = request;
  const ignored = new Set<string>();
  let left = Math.min(maxTokens, maxTotalTokens);
  let usage = NO_USAGE;
  let count = 0;

  const runOnce = async (attempt: Attempt, stop: Stop): Promise<RunText> => {
    const { text } = attempt;
    const enough = ANSWER_TOKENS_BESIDE + ANSWER_TOKENS_PER_CHARACTER * text.length;
    const { maxTotalTokens: _total, logprobs: _logprobs, outputFormat: _format, ...plain } = request;
    const { target, domains } = options;
    const generation = await generate({
      ...plain,
      messages: instructionFor({ ...attempt, source, target, examples: near(text), domains }),
      stop,
      maxTokens: Math.max(1, Math.min(left, enough)),
    });
    // The limit of a run is ours; the caller's is kept over all of them.
    for (const name of generation.ignored) if (name !== 'max_tokens(clamped)') ignored.add(name);
    onStart();
    const told = await runText(generation.batches);
    usage = addUsage(usage, told.usage);
    count++;
    return told;
  };

  return {
    async run(attempt) {
      const told = await runOnce(attempt, LINE_END);
      // A model that begins with an empty line has not said anything yet.
      return told.text.trim() === '' && told.usage.completionTokens > 0 ? await runOnce(attempt, NO_STOP) : told;
    },
    isLimited: Number.isFinite(left),
    usage: () => usage,
    count: () => count,
    ignored: () => [...ignored],
    spend: (tokens) => {
      left -= tokens;
    },
    isSpent: () => left <= 0,
  };
}

/** A segment is one line, and so is its translation. */
const LINE_END: Stop = { ...NO_STOP, strings: ['\n'] };
