import type { RegionId } from './region.ts';

/** Who asks. Everything that is stored, cached or queued belongs to one. */
export interface Owner {
  readonly workspace: string;
  readonly region: RegionId;
  readonly keyId: string;
}

/**
 * `background`: nobody waits for it, so it goes behind whatever somebody waits for. `reserved`: its place was kept for it, so
 * it goes before all others; whoever gives this out sees to it that there is no more of it than was reserved.
 */
export const PRIORITIES = ['reserved', 'live', 'background'] as const;

export type Priority = (typeof PRIORITIES)[number];

/** Facts for the one log line of a request; never prompts, answers or keys. */
export interface RequestLog {
  /** Adds facts to the line that is written when the request ends. */
  add(facts: Readonly<Record<string, string | number | boolean | undefined>>): void;
  /** Something went wrong on our side that the caller does not see. */
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void;
}

/** Passed last, to everything that works for one request. */
export interface RequestContext {
  readonly requestId: string;
  readonly owner: Owner;
  /** Absent: live. */
  readonly priority?: Priority;
  /** Aborts when the caller is gone (where the endpoint says so), at the deadline, and at shutdown. */
  readonly signal: AbortSignal;
  readonly log: RequestLog;
}
