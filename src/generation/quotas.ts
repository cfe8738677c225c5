import type { QuotaAmounts, QuotaKind, QuotaLimits } from '../core/quota.ts';
import { QUOTA_KINDS } from '../core/quota.ts';
import { QUOTA_RETRY_SECONDS_MAX, QUOTAS_MAX } from '../core/limits.ts';
import type { Clock } from '../lib/clock.ts';
import { createLru } from '../lib/lru.ts';
import { createTokenBucket } from '../lib/token-bucket.ts';
import type { TokenBucket } from '../lib/token-bucket.ts';

/** What a request asks of the quotas of one thing, all at once. */
export interface QuotaWish {
  /** Whose quotas they are. */
  readonly subject: string;
  /** In force from here on. A kind that is not there is not limited. */
  readonly limits: QuotaLimits;
  /** What it takes of each kind; 0 of a kind asks only whether anything is left. What is not there is not asked for. */
  readonly amounts: QuotaAmounts;
}

/** Why nothing was taken. */
export interface QuotaShortage {
  readonly kind: QuotaKind;
  /** Per minute. */
  readonly limit: number;
  /** Until there is enough of all kinds; whole, from 1. */
  readonly retryAfterSeconds: number;
}

/** What may be used in a minute, by subject and kind. Of several processes one keeps them for all. */
export interface Quotas {
  /** Takes all of it, or nothing where there is not enough of one kind. */
  take(wish: QuotaWish): Promise<QuotaShortage | undefined>;
  /** Takes more, whether it is there or not; less than nothing is given back. Of a subject that nobody took of: nothing happens. */
  spend(subject: string, amounts: QuotaAmounts): void;
}

export function createQuotas(clock: Pick<Clock, 'monotonic'>): Quotas {
  // A forgotten subject begins anew with full buckets, as it would after as many minutes without use.
  const subjects = createLru<Map<QuotaKind, TokenBucket>>({ entriesMax: QUOTAS_MAX, weightMax: Infinity });

  const bucketsOf = ({ subject, limits }: QuotaWish): Map<QuotaKind, TokenBucket> => {
    const buckets = subjects.get(subject) ?? new Map<QuotaKind, TokenBucket>();
    for (const kind of QUOTA_KINDS) {
      const limit = limits[kind];
      const bucket = buckets.get(kind);
      if (limit === undefined) buckets.delete(kind);
      else if (bucket) bucket.setPerMinute(limit);
      else buckets.set(kind, createTokenBucket(limit, clock));
    }
    subjects.set(subject, buckets, 0);
    return buckets;
  };

  return {
    async take(wish) {
      const { limits, amounts } = wish;
      const buckets = bucketsOf(wish);
      let shortage: QuotaShortage | undefined;
      for (const [kind, bucket] of buckets) {
        const seconds = amounts[kind] === undefined ? 0 : bucket.secondsUntil(amounts[kind]);
        const retryAfterSeconds = Math.min(QUOTA_RETRY_SECONDS_MAX, Math.max(1, Math.ceil(seconds)));
        // The one that takes longest is the one to be told.
        if (seconds > 0 && retryAfterSeconds > (shortage?.retryAfterSeconds ?? 0))
          shortage = { kind, limit: limits[kind] ?? 0, retryAfterSeconds };
      }
      if (shortage) return shortage;
      for (const [kind, bucket] of buckets) bucket.spend(amounts[kind] ?? 0);
      return undefined;
    },
    spend(subject, amounts) {
      for (const [kind, bucket] of subjects.get(subject) ?? []) bucket.spend(amounts[kind] ?? 0);
    },
  };
}
