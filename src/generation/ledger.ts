import type { Owner } from '../core/context.ts';
import type { Usage } from '../core/event.ts';

/** Records usage: an entry is reserved at the start and settled at the end, so a crash leaves an open entry behind. */
export interface Ledger {
  reserve(entry: {
    readonly requestId: string;
    readonly owner: Owner;
    readonly model: string;
    readonly choices: number;
  }): Promise<UsageReservation>;
}

export interface UsageReservation {
  /** Records the tokens that were really consumed; call once, also after an abort. */
  settle(usage: Usage, outcome: 'finished' | 'cancelled' | 'failed'): void;
}

/** Records nothing: usage appears only in the log line of the request. */
export const logOnlyLedger: Ledger = {
  reserve: async () => ({ settle: () => undefined }),
};
