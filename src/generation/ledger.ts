import type { Owner } from '../core/context.ts';
import type { Usage } from '../core/event.ts';

/** Where usage is written down: reserved at start, settled at end, also after an abort; what a crash left open is known. */
export interface Ledger {
  reserve(entry: {
    readonly requestId: string;
    readonly owner: Owner;
    readonly model: string;
    readonly choices: number;
  }): Promise<Reservation>;
}

export interface Reservation {
  /** Once, with what was really consumed. */
  settle(usage: Usage, how: 'finished' | 'cancelled' | 'failed'): void;
}

/** Usage stands in the request's log line only. */
export const logOnlyLedger: Ledger = {
  reserve: async () => ({ settle: () => undefined }),
};
