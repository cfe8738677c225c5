import { NEUTRAL_SYSTEM, type ModelFamily } from './family.ts';

/** SmolLM2: ChatML without tool calls. The vocabulary has no fill-in-the-middle tokens. */
export const smollm2: ModelFamily = {
  defaultSystem: NEUTRAL_SYSTEM,
  stopTokens: ['<|im_end|>', '<|endoftext|>', '<|im_start|>'],
};
