import type { Catalogue, ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';

const ENTRY: ModelEntry = {
  name: 'svc-embed',
  description: '',
  runs: { type: 'weights', weights: 'w', family: 'f' },
  contextTokens: 4096,
  abilities: { tools: false, vision: false, audio: false, logprobs: false, fillInTheMiddle: false },
  interfaces: ['embeddings'],
  sampling: {},
  created: 0,
};

/** Every name leads to one model, but `nix` to none. */
export const embeddingCatalogue = (): Pick<Catalogue, 'resolve'> => ({
  resolve(asked) {
    if (asked === 'nix') throw new ServiceError('model-not-found', 'There is no model nix.', { param: 'model' });
    return { asked, entry: ENTRY };
  },
});
