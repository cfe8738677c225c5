import type { Family } from './family.ts';
import { NEUTRAL_SYSTEM } from './family.ts';

/** Qwen2, Qwen2.5 and their Coder models: ChatML with Hermes tools; token names read from the files' vocabulary. */
export const qwen2: Family = {
  defaultSystem: NEUTRAL_SYSTEM,
  stopTokens: ['<|im_end|>', '<|endoftext|>', '<|im_start|>'],
  toolFormat: 'hermes',
  fillInTheMiddle: {
    prefix: '<|fim_prefix|>',
    suffix: '<|fim_suffix|>',
    middle: '<|fim_middle|>',
    stopTokens: [
      '<|endoftext|>',
      '<|im_end|>',
      '<|fim_prefix|>',
      '<|fim_middle|>',
      '<|fim_suffix|>',
      '<|fim_pad|>',
      '<|repo_name|>',
      '<|file_sep|>',
    ],
  },
};
