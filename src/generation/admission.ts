import type { Owner, Priority } from '../core/context.ts';
import type { DeploymentRecord } from '../core/deployment.ts';
import type { Usage } from '../core/event.ts';

export interface AdmissionRequest {
  readonly requestId: string;
  readonly owner: Owner;
  readonly model: string;
  readonly choices: number;
  /** `live` when absent. */
  readonly priority?: Priority;
  /** Present when the model is a deployment. */
  readonly deployment?: DeploymentRecord;
}

/** Decides whether a key may start a run now. The permit is held until the run ends for any reason. */
export interface Admission {
  /** @throws ServiceError `rate-limited` or `token-quota` with Retry-After. */
  admit(request: AdmissionRequest): Promise<Permit>;
}

export interface Permit {
  /** Priority in the engine's queue; the request's own priority when absent. */
  readonly priority?: Priority;
  /** Present when limits count the tokens of the run while it runs. */
  readonly usageMeter?: UsageMeter;
  /** Returns the permit; call once. @param usage Tokens that were really consumed. */
  release(usage: Usage, outcome: 'finished' | 'cancelled' | 'failed'): void;
}

export interface UsageMeter {
  /**
   * Counts the request and its prompt; call once, before the engine starts.
   * @param firstPrompt.promptTokens Undefined when the engine cannot count them before the start.
   * @throws ServiceError `rate-limited` or `token-quota` with Retry-After, naming the exhausted limit.
   */
  start(firstPrompt: { readonly promptTokens: number | undefined; readonly thinks: boolean }): Promise<void>;
  /** Counts generated tokens. A running generation is never rejected for them. */
  recordOutput(tokens: number, kind: 'answer' | 'thought'): void;
}

/** Admits every request: no limits per key are configured. */
export const unlimitedAdmission: Admission = {
  admit: async () => ({ release: () => undefined }),
};
