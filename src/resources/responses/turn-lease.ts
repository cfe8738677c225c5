import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import { CONVERSATION_LEASE_MS, CONVERSATION_LEASE_RENEW_MS, CONVERSATION_RETRY_SECONDS } from './limits.ts';
import type { Clock } from '../../lib/clock.ts';
import type { StartInterval } from '../../lib/start-interval.ts';
import type { ConversationStore } from '../../store/conversations.ts';
import { throwConversationNotFound } from '../conversations/not-found.ts';

export interface TurnLeaseDeps {
  readonly conversations: ConversationStore;
  readonly clock: Clock;
  readonly startInterval: StartInterval;
}

export interface TurnLease {
  /** Stops renewing. The conversation stays locked until `release` or until the lease expires. */
  stop(): void;
  /** Unlocks the conversation. Never rejects: if the store fails, the lease expires by itself. */
  release(): Promise<void>;
}

/**
 * Locks a conversation for one turn and renews the lock periodically. The lock of a dead process expires after
 * CONVERSATION_LEASE_MS.
 * @throws ServiceError `not-found`; `locked` while another turn holds the conversation.
 */
export async function acquireTurnLease(
  { conversations, clock, startInterval }: TurnLeaseDeps,
  owner: Owner,
  { conversation, turn }: { readonly conversation: string; readonly turn: string },
): Promise<TurnLease> {
  const now = clock.now();
  if (!(await conversations.acquireTurnLease(owner, conversation, { turn, until: now + CONVERSATION_LEASE_MS, now }))) {
    if (!(await conversations.find(owner, conversation))) throwConversationNotFound(conversation);
    throw createConversationLockedError(conversation);
  }
  const stop = startInterval(CONVERSATION_LEASE_RENEW_MS, () => {
    // A failed renewal is made up for by the next one; `Turn.complete` detects a lost lock.
    conversations
      .renewTurnLease(owner, conversation, { turn, until: clock.now() + CONVERSATION_LEASE_MS })
      .catch(() => undefined);
  });
  return {
    stop,
    async release() {
      stop();
      await conversations.releaseTurnLease(owner, conversation, turn).catch(() => undefined);
    },
  };
}

export const createConversationLockedError = (conversation: string): ServiceError =>
  new ServiceError('locked', `Conversation '${conversation}' is answering another request: try again later.`, {
    param: 'conversation',
    retryAfterSeconds: CONVERSATION_RETRY_SECONDS,
  });
