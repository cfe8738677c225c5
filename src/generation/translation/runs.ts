import type { Usage } from '../../core/event.ts';
import { NO_STOP } from '../../core/request.ts';
import type { GenerationRequest, Stop } from '../../core/request.ts';
import type { Generation } from '../generation.ts';
import { enoughTokens } from './enough-tokens.ts';
import { instructionFor } from './instruction.ts';
import type { Language } from './languages.ts';
import type { MemoryPair } from './memory.ts';
import { addUsage, NO_USAGE, runText } from './run-text.ts';
import type { RunText } from './run-text.ts';
import { isAnnouncement } from './tidy-answer.ts';
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
  /** @param spent Tokens of the caller's limit that are used and not yet taken off it. */
  run(attempt: Attempt, spent?: number): Promise<RunText>;
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

interface Room {
  readonly spent: number;
  readonly spare: number;
}

/** Ours: what an answer that our own limit has cut may have in its second run. */
const MORE = 4;

export function createRuns(request: GenerationRequest, { generate, options, source, near, onStart }: Needs): Runs {
  const { maxTokens = Infinity, maxTotalTokens = Infinity } = request;
  const ignored = new Set<string>();
  let left = Math.min(maxTokens, maxTotalTokens);
  let usage = NO_USAGE;
  let count = 0;

  /** @param spare How much more than enough an answer may have. */
  const runOnce = async (attempt: Attempt, stop: Stop, { spent, spare }: Room): Promise<RunText> => {
    const allowed = left - spent;
    if (allowed <= 0) return { text: '', reason: 'length', usage: NO_USAGE };
    const { text } = attempt;
    const { maxTotalTokens: _total, logprobs: _logprobs, outputFormat: _format, ...plain } = request;
    const { target, domains } = options;
    const enough = spare * enoughTokens(text, target);
    const generation = await generate({
      ...plain,
      messages: instructionFor({ ...attempt, source, target, examples: near(text), domains }),
      stop,
      maxTokens: Math.min(allowed, enough),
    });
    // The limit of a run is ours; the caller's is kept over all of them.
    for (const name of generation.ignored) if (name !== 'max_tokens(clamped)') ignored.add(name);
    onStart();
    const told = await runText(generation.batches);
    usage = addUsage(usage, told.usage);
    count++;
    const isOurCut = told.reason === 'length' && enough < allowed && told.usage.completionTokens >= enough;
    if (!isOurCut) return told;
    if (spare === 1) return await runOnce(attempt, stop, { spent, spare: MORE });
    // It has run away; no limit of the caller's ended it.
    return { ...told, reason: 'stop' };
  };

  return {
    async run(attempt, spent = 0) {
      const room = { spent, spare: 1 };
      const told = await runOnce(attempt, LINE_END, room);
      // A model that begins with an empty line, or announces what follows, has not said anything yet.
      const isBegun = told.text.trim() === '' || (told.reason === 'stop' && isAnnouncement(told.text, attempt.text));
      return isBegun && told.usage.completionTokens > 0 ? await runOnce(attempt, NO_STOP, room) : told;
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
