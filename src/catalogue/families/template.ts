import type { ModelFamily } from './family.ts';

/** Any other model file: only its own template and end token are used. */
export const template: ModelFamily = { stopTokens: [] };
