import type { Catalogue, ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';

const ENTRY: ModelEntry = {
  name: 'svc-embed',
  description: '',
  runner: { type: 'weights', weights: 'w', family: 'f' },
  contextTokens: 4096,
  abilities: { tools: false, vision: false, audio: false, logprobs: false, fillInTheMiddle: false },
  interfaces: ['embeddings'],
  sampling: {},
  created: 0,
};

/** Resolves every name to one model, except `nix`, which is unknown. */
export const createFakeEmbeddingCatalogue = (): Pick<Catalogue, 'resolve'> => ({
  async resolve(name) {
    if (name === 'nix') throw new ServiceError('model-not-found', 'There is no model nix.', { param: 'model' });
    return { requestedName: name, entry: ENTRY };
  },
});
