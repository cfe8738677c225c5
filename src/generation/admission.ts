import type { Owner } from '../core/context.ts';

/** May this key start this now? A permit is held from start to end of a run, whatever ends it. */
export interface Admission {
  /** @throws ServiceError `rate-limited` or `token-quota` with Retry-After. */
  admit(request: { readonly owner: Owner; readonly model: string; readonly choices: number }): Promise<Permit>;
}

export interface Permit {
  release(): void;
}

/** Everybody may: limits per key are not configured. */
export const openAdmission: Admission = {
  admit: async () => ({ release: () => undefined }),
};
