/** Source of time. Passed as a parameter, so that no test sleeps. */
export interface Clock {
  /** Milliseconds since the epoch, UTC. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

export const toUnixSeconds = (ms: number): number => Math.floor(ms / 1000);
