import { getFamilyName, type Catalogue, type ResolvedModel } from '../catalogue/model.ts';
import type { EngineLease } from '../engines/engine-registry.ts';
import type { ModelEngines } from './model-engines.ts';

export interface TokenizerFinderDeps {
  readonly catalogue: Pick<Catalogue, 'list'>;
  readonly engines: Pick<ModelEngines, 'engineFor' | 'getState'>;
}

/**
 * Creates the function that finds loaded weights of the same declared family as a model, for their tokenizer. Weights are
 * never loaded for it, and the family `template` stands for any model.
 */
export function createTokenizerFinder({ catalogue, engines }: TokenizerFinderDeps) {
  return async (model: ResolvedModel): Promise<EngineLease | undefined> => {
    const family = getFamilyName(model.entry);
    if (family === 'template') return undefined;
    for (const entry of catalogue.list()) {
      if (entry.runner.type !== 'weights' || entry.runner.family !== family) continue;
      if ((await engines.getState(entry)).state !== 'ready') continue;
      const lease = await engines.engineFor({ requestedName: entry.name, entry });
      if (lease.engine.capabilities.input === 'prompt') return lease;
      lease.release();
    }
    return undefined;
  };
}
