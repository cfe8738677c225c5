import { CACHE_MARKS_MAX, EXPLICIT_CACHE_TOKENS_MIN } from '../../core/limits.ts';
import { wholeSlices } from './cells.ts';
import type { Cells } from './cells.ts';
import type { Job } from './job.ts';
import type { NativeModel } from './native-model.ts';
import type { PrefixEntry, PrefixRun, PrefixStore } from './prefix-store.ts';
import { servingTokens } from './prefix-store.ts';
import type { Counts } from './protocol.ts';
import type { Slot } from './slots.ts';

/** What a request that marked its prompt wants of the explicit cache, and got. */
export interface CacheWish {
  /** Lengths of the beginnings to be kept, rising. */
  readonly marks: readonly number[];
  /** Those that the run itself still has to keep. */
  unsaved: readonly number[];
  /** Length of the longest kept beginning that it found before it began, and so went on from. */
  foundTokens: number;
  /** Length of the longest that others kept while it evaluated the same itself. */
  othersTokens: number;
  /** Length of the longest that it wrote. */
  savedTokens: number;
}

export interface CacheHit {
  readonly entry: PrefixEntry;
  /** Tokens of the prompt that need not be evaluated. */
  readonly tokens: number;
}

/** The explicit cache as the scheduler uses it. All of it happens between two evaluations. */
export interface ExplicitCache {
  /** What is kept of the job's prompt. Counts as its use. */
  find(job: Job): CacheHit | undefined;
  /** False when the file is of no use after all: it is forgotten, and the sequence is empty. */
  load(hit: CacheHit, slot: Slot): Promise<boolean>;
  /** Keeps those marked beginnings that the sequence holds by now. */
  keep(job: Job, slot: Slot): Promise<void>;
}

/**
 * Marks in tokens to lengths worth keeping. They are rounded down to a seeded run's slices, so that such runs are not cut
 * elsewhere and share what is kept with all others; a word that goes on behind the mark is seldom in it then.
 */
export function createCacheWish(marks: readonly number[]): CacheWish | undefined {
  if (marks.length === 0) return undefined;
  const worth = marks.filter((mark) => mark >= EXPLICIT_CACHE_TOKENS_MIN).map(wholeSlices);
  const lengths = [...new Set(worth)].toSorted((a, b) => a - b).slice(-CACHE_MARKS_MAX);
  return { marks: lengths, unsaved: [], foundTokens: 0, othersTokens: 0, savedTokens: 0 };
}

/** @param store Absent: nothing is kept. */
export function createExplicitCache({
  model,
  cells,
  store,
}: {
  readonly model: Pick<NativeModel, 'saveState'>;
  readonly cells: Pick<Cells, 'load'>;
  readonly store: PrefixStore | undefined;
}): ExplicitCache {
  const runOf = ({ call, isSeeded }: Job): PrefixRun => ({ workspace: call.owner.workspace, isSeeded });

  return {
    find(job) {
      const { cacheWish: wish, prompt, isSeeded } = job;
      if (!wish || !store) return undefined;
      const run = runOf(job);
      wish.unsaved = wish.marks.filter((mark) => {
        const same = store.findExact(prompt, mark, run);
        if (same) store.refresh(same);
        return !same;
      });
      const entry = store.find(prompt, run);
      wish.foundTokens = entry ? servingTokens(entry, run) : 0;
      if (!entry) return undefined;
      store.refresh(entry);
      // At least one token is evaluated: its logits choose the first token of the answer.
      const most = Math.min(wish.foundTokens, prompt.length - 1);
      return { entry, tokens: isSeeded ? wholeSlices(most) : most };
    },
    async load({ entry }, slot) {
      try {
        await cells.load(slot, entry.file, entry.seededTokens);
        return true;
      } catch {
        store?.drop(entry);
        return false;
      }
    },
    async keep(job, slot) {
      const { cacheWish: wish, prompt, isSeeded } = job;
      if (!wish || !store) return;
      const run = runOf(job);
      const reached = wish.unsaved.filter((mark) => mark <= slot.tokens.length);
      wish.unsaved = wish.unsaved.slice(reached.length);
      for (const mark of reached) {
        if (store.findExact(prompt, mark, run)) {
          // Somebody beside us was first: nothing is left to write, but nothing was spared either.
          wish.othersTokens = Math.max(wish.othersTokens, mark);
          continue;
        }
        const state = {
          workspace: run.workspace,
          tokens: prompt.slice(0, mark),
          seededTokens: isSeeded ? mark : Math.min(slot.seededTokens, mark),
          stateTokens: slot.tokens.length,
        };
        const isSaved = await store.save(state, (file) => model.saveState(slot.sequence, slot.tokens, file));
        if (isSaved) wish.savedTokens = mark;
      }
    },
  };
}

/** Tokens that may be evaluated at once so that a marked beginning is kept just when it is there. */
export function tokensToMark({ cacheWish: wish }: Pick<Job, 'cacheWish'>, { tokens }: Slot): number {
  const [next] = wish?.unsaved ?? [];
  return next === undefined || next <= tokens.length ? Infinity : next - tokens.length;
}

export function cacheCounts({
  cacheWish: wish,
}: Pick<Job, 'cacheWish'>): Pick<Counts, 'cacheCreationTokens' | 'usesExplicitCache'> {
  if (!wish) return {};
  const created = Math.max(0, wish.savedTokens - Math.max(wish.foundTokens, wish.othersTokens));
  return {
    cacheCreationTokens: created,
    ...(created > 0 || wish.foundTokens > 0 ? { usesExplicitCache: true } : {}),
  };
}
