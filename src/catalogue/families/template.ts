import type { Family } from './family.ts';

/** Any model file: its own template and its own end token, nothing of ours. */
export const template: Family = { stopTokens: [] };
