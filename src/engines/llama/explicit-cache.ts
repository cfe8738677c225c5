import { CACHE_MARKS_MAX } from '../../core/limits.ts';
import { EXPLICIT_CACHE_TOKENS_MIN } from './limits.ts';
import { roundDownToSlice } from './kv-cache.ts';
import type { KvCache } from './kv-cache.ts';
import type { GenerationJob } from './job.ts';
import type { NativeModel } from './native-model.ts';
import type { PrefixEntry, PrefixQuery, PrefixStore } from './prefix-store.ts';
import { countReusableTokens } from './prefix-store.ts';
import type { TokenCounts } from './protocol.ts';
import type { Slot } from './slot-pool.ts';

/** Explicit caching of one request: the marks in its prompt, and what was found and stored for them. */
export interface CacheRequest {
  /** Lengths of the prefixes to store, in tokens, in ascending order. */
  readonly marks: readonly number[];
  /** Marks that this run must still store. */
  unsavedMarks: readonly number[];
  /** Length of the longest stored prefix that was found when the run started, and that the run continued from. */
  foundTokens: number;
  /** Length of the longest prefix that another run stored while this run evaluated the same tokens. */
  savedByOthersTokens: number;
  /** Length of the longest prefix that this run stored. */
  savedTokens: number;
}

export interface CacheHit {
  readonly entry: PrefixEntry;
  /** Number of prompt tokens that need no evaluation. */
  readonly tokens: number;
}

/** The explicit context cache as the scheduler uses it. All methods run between two evaluations. */
export interface ExplicitCache {
  /** Finds the longest stored prefix of the job's prompt, and restarts the expiry time of the entries it uses. */
  find(job: GenerationJob): CacheHit | undefined;
  /** Returns false if the file is unusable; the entry is then removed and the sequence empty. */
  load(hit: CacheHit, slot: Slot): Promise<boolean>;
  /** Stores the marked prefixes that the sequence has reached. */
  saveReachedMarks(job: GenerationJob, slot: Slot): Promise<void>;
}

/**
 * Converts the cache marks of a prompt to prefix lengths worth storing. Lengths are rounded down to the slices of
 * seeded runs, so that seeded and unseeded runs can share entries. The rounding also usually drops a word that the mark
 * cuts.
 */
export function createCacheRequest(marks: readonly number[]): CacheRequest | undefined {
  if (marks.length === 0) return undefined;
  const usableMarks = marks.filter((mark) => mark >= EXPLICIT_CACHE_TOKENS_MIN).map(roundDownToSlice);
  const lengths = [...new Set(usableMarks)].toSorted((a, b) => a - b).slice(-CACHE_MARKS_MAX);
  return { marks: lengths, unsavedMarks: [], foundTokens: 0, savedByOthersTokens: 0, savedTokens: 0 };
}

/** @param store Absent: nothing is stored. */
export function createExplicitCache({
  model,
  cells,
  store,
}: {
  readonly model: Pick<NativeModel, 'saveState'>;
  readonly cells: Pick<KvCache, 'load'>;
  readonly store: PrefixStore | undefined;
}): ExplicitCache {
  const toPrefixQuery = ({ call, isSeeded }: GenerationJob): PrefixQuery => ({
    workspace: call.owner.workspace,
    isSeeded,
  });

  return {
    find(job) {
      const { cacheRequest: request, prompt, isSeeded } = job;
      if (!request || !store) return undefined;
      const query = toPrefixQuery(job);
      request.unsavedMarks = request.marks.filter((mark) => {
        const saved = store.findExact(prompt, mark, query);
        if (saved) store.refresh(saved);
        return !saved;
      });
      const entry = store.find(prompt, query);
      request.foundTokens = entry ? countReusableTokens(entry, query) : 0;
      if (!entry) return undefined;
      store.refresh(entry);
      // At least one token must be evaluated: its logits determine the first token of the answer.
      const tokensMax = Math.min(request.foundTokens, prompt.length - 1);
      return { entry, tokens: isSeeded ? roundDownToSlice(tokensMax) : tokensMax };
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
    async saveReachedMarks(job, slot) {
      const { cacheRequest: request, prompt, isSeeded } = job;
      if (!request || !store) return;
      const query = toPrefixQuery(job);
      const reachedMarks = request.unsavedMarks.filter((mark) => mark <= slot.tokens.length);
      request.unsavedMarks = request.unsavedMarks.slice(reachedMarks.length);
      for (const mark of reachedMarks) {
        if (store.findExact(prompt, mark, query)) {
          // Another run has stored this prefix meanwhile: nothing needs writing, but this run saved no evaluation
          // either.
          request.savedByOthersTokens = Math.max(request.savedByOthersTokens, mark);
          continue;
        }
        const snapshot = {
          workspace: query.workspace,
          tokens: prompt.slice(0, mark),
          seededTokens: isSeeded ? mark : Math.min(slot.seededTokens, mark),
          fileTokens: slot.tokens.length,
        };
        const isSaved = await store.save(snapshot, (file) => model.saveState(slot.sequence, slot.tokens, file));
        if (isSaved) request.savedTokens = mark;
      }
    },
  };
}

/** Counts the tokens that may be evaluated at once before the next marked prefix has to be stored. */
export function countTokensToNextMark(
  { cacheRequest: request }: Pick<GenerationJob, 'cacheRequest'>,
  { tokens }: Slot,
): number {
  const [next] = request?.unsavedMarks ?? [];
  return next === undefined || next <= tokens.length ? Infinity : next - tokens.length;
}

export function countCacheTokens({
  cacheRequest: request,
}: Pick<GenerationJob, 'cacheRequest'>): Pick<TokenCounts, 'cacheCreationTokens' | 'usesExplicitCache'> {
  if (!request) return {};
  const createdTokens = Math.max(0, request.savedTokens - Math.max(request.foundTokens, request.savedByOthersTokens));
  return {
    cacheCreationTokens: createdTokens,
    ...(createdTokens > 0 || request.foundTokens > 0 ? { usesExplicitCache: true } : {}),
  };
}
