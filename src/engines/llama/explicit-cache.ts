import { roundDownToSlice, type KvCache } from './kv-cache.ts';
import type { GenerationJob } from './job.ts';
import type { NativeModel } from './native-model.ts';
import { countReusableTokens, type PrefixEntry, type PrefixQuery, type PrefixStore } from './prefix-store.ts';
import type { TokenCounts } from './protocol.ts';
import type { Slot } from './slot-pool.ts';

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
