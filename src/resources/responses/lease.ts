import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import { TURN_LEASE_MS, TURN_RENEW_MS, TURN_RETRY_SECONDS } from '../../core/limits.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Every } from '../../lib/every.ts';
import type { ConversationStore } from '../../store/conversations.ts';
import { noConversation } from '../conversations/not-there.ts';

export interface LeaseNeeds {
  readonly conversations: ConversationStore;
  readonly clock: Clock;
  readonly every: Every;
}

export interface Lease {
  /** No more signs of life. The conversation stays taken until `release`, or until the lease has run out. */
  stop(): void;
  /** Lets the conversation go. Never rejects: where the store fails, the lease runs out by itself. */
  release(): Promise<void>;
}

/**
 * Takes a conversation for one answer, and keeps it with signs of life; of a dead process it is free after TURN_LEASE_MS.
 * @throws ServiceError `not-found`; `locked` when another answer has it.
 */
export async function takeLease(
  { conversations, clock, every }: LeaseNeeds,
  owner: Owner,
  { conversation, turn }: { readonly conversation: string; readonly turn: string },
): Promise<Lease> {
  const now = clock.now();
  if (!(await conversations.takeTurn(owner, conversation, { turn, until: now + TURN_LEASE_MS, now }))) {
    if (!(await conversations.find(owner, conversation))) noConversation(conversation);
    throw lockedBy(conversation);
  }
  const stop = every(TURN_RENEW_MS, () => {
    // One that fails is made up for by the next; `complete` finds out what became of it.
    conversations.renewTurn(owner, conversation, { turn, until: clock.now() + TURN_LEASE_MS }).catch(() => undefined);
  });
  return {
    stop,
    async release() {
      stop();
      await conversations.releaseTurn(owner, conversation, turn).catch(() => undefined);
    },
  };
}

export const lockedBy = (conversation: string): ServiceError =>
  new ServiceError('locked', `Conversation '${conversation}' is answering another request: try again later.`, {
    param: 'conversation',
    retryAfterSeconds: TURN_RETRY_SECONDS,
  });
