import { QUOTA_TELL_MS } from '../../core/limits.ts';
import { QUOTA_KINDS } from '../../core/quota.ts';
import type { QuotaAmounts, QuotaKind } from '../../core/quota.ts';
import type { Quotas } from '../../generation/quotas.ts';
import type { MessageCalls } from '../../lib/message-calls.ts';
import type { PrimaryFunctions } from './protocol.ts';

/**
 * Quotas that the primary keeps for all workers. It is asked once per request of what has any; what answers use is told it
 * together, and so a little later: by that much a limit may be passed.
 */
export function createToldQuotas(
  primary: Pick<MessageCalls<Pick<PrimaryFunctions, 'quota.take' | 'quota.spend'>>, 'ask'>,
): Quotas {
  const untold = new Map<string, Map<QuotaKind, number>>();
  let timer: NodeJS.Timeout | undefined;

  const tell = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const spent = [...untold].map(([subject, amounts]) => ({ subject, amounts: Object.fromEntries(amounts) }));
    untold.clear();
    // A worker whose primary is gone ends.
    if (spent.length > 0) primary.ask('quota.spend', spent).catch(() => undefined);
  };

  const gather = (subject: string, amounts: QuotaAmounts): void => {
    const sums = untold.get(subject) ?? new Map<QuotaKind, number>();
    untold.set(subject, sums);
    for (const kind of QUOTA_KINDS) {
      const amount = amounts[kind] ?? 0;
      if (amount !== 0) sums.set(kind, (sums.get(kind) ?? 0) + amount);
    }
  };

  return {
    async take(wish) {
      tell();
      return (await primary.ask('quota.take', wish)) ?? undefined;
    },
    spend(subject, amounts) {
      gather(subject, amounts);
      timer ??= setTimeout(tell, QUOTA_TELL_MS).unref();
    },
  };
}
