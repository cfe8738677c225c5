/** Runs a poll function without overlap; triggers during a poll cause one more poll after it. */
export interface CoalescedPoll {
  /** Schedules a poll. Calls during a poll coalesce into one more poll. */
  trigger(): void;
  /** Resolves when no poll is running. */
  waitUntilIdle(): Promise<void>;
}

/** @param poll Must not reject. */
export function createCoalescedPoll(poll: () => Promise<void>): CoalescedPoll {
  let polling: Promise<void> | undefined;
  let isTriggered = false;
  const pollWhileTriggered = async (): Promise<void> => {
    while (isTriggered) {
      isTriggered = false;
      await poll();
    }
    polling = undefined;
  };
  return {
    trigger() {
      isTriggered = true;
      polling ??= pollWhileTriggered();
    },
    waitUntilIdle: async () => await polling,
  };
}
