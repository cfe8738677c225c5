import { NEUTRAL_SYSTEM, type ModelFamily } from './family.ts';
import { QWEN_FILL } from '../../core/fill-in-the-middle.ts';

/**
 * Qwen2, Qwen2.5 and their Coder models: ChatML with Hermes tool calls. Token names from the vocabulary of the files.
 */
export const qwen2: ModelFamily = {
  defaultSystem: NEUTRAL_SYSTEM,
  stopTokens: ['<|im_end|>', '<|endoftext|>', '<|im_start|>'],
  toolFormat: 'hermes',
  fillInTheMiddle: QWEN_FILL,
};
