import type { ModelEntry } from '../../../../catalogue/model.ts';

export const ENTRY: ModelEntry = {
  name: 'm',
  description: '',
  runner: { type: 'weights', weights: 'w', family: 'qwen2' },
  contextTokens: 100,
  abilities: { logprobs: true, fillInTheMiddle: true },
  interfaces: ['completions'],
  sampling: {},
  created: 0,
};
