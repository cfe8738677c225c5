import type { Owner } from '../../../core/context.ts';
import type { ServiceError } from '../../../core/error.ts';
import type { ResearchRequest, ResearchStep } from '../research.ts';

/** A run at the start of an attempt. */
export interface ResearchAttempt {
  readonly request: ResearchRequest;
  readonly owner: Owner;
  /** UTC milliseconds; start of the first attempt. */
  readonly startedAt: number;
  /** Steps that earlier attempts stored. */
  readonly pastSteps: readonly ResearchStep[];
}

/**
 * `active`: a client reads the run. `unread`: nobody has read it for RESEARCH_UNATTENDED_MS_MAX. `ended`: final state
 * or removed.
 */
export type ResearchStatus = 'active' | 'unread' | 'ended';

/** State transitions of research runs, for the job that executes them. None changes a run that has ended. */
export interface ResearchLifecycle {
  /**
   * Starts an attempt, which supersedes older attempts.
   * @returns undefined if the run has ended or does not exist.
   */
  startAttempt(id: string, attempt: number): Promise<ResearchAttempt | undefined>;
  /**
   * Appends a step; `isLast` completes the run.
   * @returns false if the run has ended or a newer attempt exists.
   */
  append(
    id: string,
    stepInfo: {
      readonly attempt: number;
      readonly number: number;
      readonly step: ResearchStep;
      readonly isLast: boolean;
    },
  ): Promise<boolean>;
  getStatus(id: string): Promise<ResearchStatus>;
  /**
   * Ends the run with an error for its readers.
   * @param attempt Fails only if this attempt is current; undefined: always.
   */
  fail(id: string, error: ServiceError, attempt?: number): Promise<void>;
  /** Cancels the run and its job. */
  cancel(id: string): Promise<void>;
  /** Cancels the run and its job if it is still unread. */
  cancelUnread(id: string): Promise<void>;
  readSteps(id: string): Promise<readonly ResearchStep[]>;
}
