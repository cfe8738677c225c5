import { LRUCache } from 'lru-cache';
import { QUOTA_KINDS, type QuotaAmounts, type QuotaKind, type QuotaLimits } from '../core/quota.ts';
import { QUOTA_RETRY_SECONDS_MAX, QUOTA_DEPLOYMENTS_TRACKED_MAX } from './limits.ts';
import type { Clock } from '../lib/clock.ts';
import { createTokenBucket, type TokenBucket } from '../lib/token-bucket.ts';

/** Amounts that one request takes from the quotas of a subject, all or nothing. */
export interface QuotaRequest {
  /** Id of the deployment whose quotas are used. */
  readonly subject: string;
  /** Limits from now on. A kind without an entry is unlimited. */
  readonly limits: QuotaLimits;
  /** Amount per kind. 0 only checks that something is left; a kind without an entry is not checked. */
  readonly amounts: QuotaAmounts;
}

/** The quota that has too little left, which is why nothing was taken. */
export interface QuotaShortage {
  readonly kind: QuotaKind;
  /** Per minute. */
  readonly limit: number;
  /** Whole seconds, at least 1, until enough of all kinds is available. */
  readonly retryAfterSeconds: number;
}

/** Quotas per minute by subject and kind. One process keeps them for all processes. */
export interface Quotas {
  /** Takes all amounts, or none when one kind has too little. */
  take(request: QuotaRequest): Promise<QuotaShortage | undefined>;
  /** Takes amounts even when too little is left; negative amounts are returned. Ignores subjects unknown to `take`. */
  spend(subject: string, amounts: QuotaAmounts): void;
}

export function createQuotas(clock: Pick<Clock, 'monotonic'>): Quotas {
  // An evicted subject starts again with full buckets, as it would after some minutes without use.
  const subjects = new LRUCache<string, Map<QuotaKind, TokenBucket>>({
    max: QUOTA_DEPLOYMENTS_TRACKED_MAX,
  });

  const getBuckets = ({ subject, limits }: QuotaRequest): Map<QuotaKind, TokenBucket> => {
    const buckets = subjects.get(subject) ?? new Map<QuotaKind, TokenBucket>();
    for (const kind of QUOTA_KINDS) {
      const limit = limits[kind];
      const bucket = buckets.get(kind);
      if (limit === undefined) buckets.delete(kind);
      else if (bucket) bucket.setPerMinute(limit);
      else buckets.set(kind, createTokenBucket(limit, clock));
    }
    subjects.set(subject, buckets);
    return buckets;
  };

  return {
    async take(request) {
      const { limits, amounts } = request;
      const buckets = getBuckets(request);
      let shortage: QuotaShortage | undefined;
      for (const [kind, bucket] of buckets) {
        const seconds = amounts[kind] === undefined ? 0 : bucket.getSecondsUntil(amounts[kind]);
        const retryAfterSeconds = Math.min(QUOTA_RETRY_SECONDS_MAX, Math.max(1, Math.ceil(seconds)));
        // The error names the kind with the longest wait.
        if (seconds > 0 && retryAfterSeconds > (shortage?.retryAfterSeconds ?? 0))
          shortage = { kind, limit: limits[kind] ?? 0, retryAfterSeconds };
      }
      if (shortage) return shortage;
      for (const [kind, bucket] of buckets) bucket.consume(amounts[kind] ?? 0);
      return undefined;
    },
    spend(subject, amounts) {
      for (const [kind, bucket] of subjects.get(subject) ?? []) bucket.consume(amounts[kind] ?? 0);
    },
  };
}
