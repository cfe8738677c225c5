import type { Family } from './family.ts';
import { NEUTRAL_SYSTEM } from './family.ts';
import { QWEN_FILL } from './fill-in-the-middle.ts';

/** Qwen2, Qwen2.5 and their Coder models: ChatML with Hermes tools; token names read from the files' vocabulary. */
export const qwen2: Family = {
  defaultSystem: NEUTRAL_SYSTEM,
  stopTokens: ['<|im_end|>', '<|endoftext|>', '<|im_start|>'],
  toolFormat: 'hermes',
  fillInTheMiddle: QWEN_FILL,
};
