import type { Family } from './family.ts';
import { NEUTRAL_SYSTEM } from './family.ts';

/** SmolLM2: ChatML without tools; the vocabulary has no tokens for filling in the middle. */
export const smollm2: Family = {
  defaultSystem: NEUTRAL_SYSTEM,
  stopTokens: ['<|im_end|>', '<|endoftext|>', '<|im_start|>'],
};
