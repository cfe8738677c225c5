import type { Owner } from '../../core/context.ts';
import type { ServiceError } from '../../core/error.ts';
import type { ResearchRequest, ResearchStep } from '../../core/research.ts';

/** A run as an attempt finds it. */
export interface BegunResearch {
  readonly request: ResearchRequest;
  readonly owner: Owner;
  /** UTC milliseconds: when its first attempt began. */
  readonly startedAt: number;
  /** The steps of earlier attempts. */
  readonly past: readonly ResearchStep[];
}

/** What whoever works at a run is to do about it: `unread`: nobody has read it for RESEARCH_ATTACH_MS. */
export type ResearchStanding = 'wanted' | 'unread' | 'ended';

/** Runs for those who bring them about. Nothing here changes one that has ended. */
export interface ResearchWork {
  /** It goes on with this attempt from here on, and not with an older one. Undefined where there is nothing to be done. */
  begin(id: string, attempt: number): Promise<BegunResearch | undefined>;
  /** `isLast`: the run is done with it. False where the run has ended, or another attempt has it. */
  append(
    id: string,
    wish: { readonly attempt: number; readonly number: number; readonly step: ResearchStep; readonly isLast: boolean },
  ): Promise<boolean>;
  standingOf(id: string): Promise<ResearchStanding>;
  /** Its readers are told. @param attempt Whose failure it is; undefined: anybody's. */
  fail(id: string, error: ServiceError, attempt?: number): Promise<void>;
  /** With its job. */
  cancel(id: string): Promise<void>;
  /** The same, where nobody reads it still. */
  cancelUnread(id: string): Promise<void>;
  stepsOf(id: string): Promise<readonly ResearchStep[]>;
}
