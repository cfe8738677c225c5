import type { Owner, Priority } from '../core/context.ts';
import type { DeploymentRecord } from '../core/deployment.ts';
import type { Usage } from '../core/event.ts';

export interface AdmissionWish {
  readonly requestId: string;
  readonly owner: Owner;
  readonly model: string;
  readonly choices: number;
  /** Absent: live. */
  readonly priority?: Priority;
  /** Present where the model is one. */
  readonly deployment?: DeploymentRecord;
}

/** May this key start this now? A permit is held from start to end of a run, whatever ends it. */
export interface Admission {
  /** @throws ServiceError `rate-limited` or `token-quota` with Retry-After. */
  admit(request: AdmissionWish): Promise<Permit>;
}

export interface Permit {
  /** Where engines put it in their queues, if not where the request says. */
  readonly priority?: Priority;
  /** Present where what the run uses is counted while it runs. */
  readonly count?: UseCount;
  /** Once. @param usage What was really consumed. */
  release(usage: Usage, how: 'finished' | 'cancelled' | 'failed'): void;
}

export interface UseCount {
  /**
   * Once, before the engine is asked.
   * @param first.promptTokens Undefined where nobody can count them yet.
   * @throws ServiceError `rate-limited` or `token-quota` with Retry-After, naming what is used up.
   */
  begin(first: { readonly promptTokens: number | undefined; readonly thinks: boolean }): Promise<void>;
  /** So many tokens more; what is running is never refused for them. */
  produced(tokens: number, kind: 'answer' | 'thought'): void;
}

/** Everybody may: limits per key are not configured. */
export const openAdmission: Admission = {
  admit: async () => ({ release: () => undefined }),
};
