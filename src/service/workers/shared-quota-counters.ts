import { QUOTA_REPORT_MS } from '../limits.ts';
import { QUOTA_KINDS, type QuotaAmounts, type QuotaKind } from '../../core/quota.ts';
import type { Quotas } from '../../generation/quotas.ts';
import type { RpcPeer } from '../../lib/rpc-peer.ts';
import type { PrimaryFunctions } from './protocol.ts';

/**
 * Quotas whose counters the primary keeps for all workers. A worker asks once per request; it reports usage in batches, so a
 * limit can be exceeded by the usage of one reporting interval.
 */
export function createSharedQuotaCounters(
  primary: Pick<RpcPeer<Pick<PrimaryFunctions, 'quota.take' | 'quota.spend'>>, 'call'>,
): Quotas {
  const unreported = new Map<string, Map<QuotaKind, number>>();
  let timer: NodeJS.Timeout | undefined;

  const report = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const usage = [...unreported].map(([subject, amounts]) => ({ subject, amounts: Object.fromEntries(amounts) }));
    unreported.clear();
    // A failure means that the primary has exited, and then this worker exits too.
    if (usage.length > 0) primary.call('quota.spend', usage).catch(() => undefined);
  };

  const add = (subject: string, amounts: QuotaAmounts): void => {
    const sums = unreported.get(subject) ?? new Map<QuotaKind, number>();
    unreported.set(subject, sums);
    for (const kind of QUOTA_KINDS) {
      const amount = amounts[kind] ?? 0;
      if (amount !== 0) sums.set(kind, (sums.get(kind) ?? 0) + amount);
    }
  };

  return {
    async take(request) {
      report();
      return (await primary.call('quota.take', request)) ?? undefined;
    },
    spend(subject, amounts) {
      add(subject, amounts);
      timer ??= setTimeout(report, QUOTA_REPORT_MS).unref();
    },
  };
}
