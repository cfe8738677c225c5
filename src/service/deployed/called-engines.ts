import type { Deployed, ResolvedModel } from '../../catalogue/model.ts';
import { ServiceError } from '../../core/error.ts';
import type { EmbeddingEngine, RankingEngine, TextEngine } from '../../engines/engine.ts';
import type { Lease } from '../../engines/registry.ts';
import type { ModelEngines } from '../model-engines.ts';
import type { DeployedEngines } from './deployed.ts';

type CalledEngines = Pick<ModelEngines, 'engineFor' | 'embeddingsFor' | 'rankingFor'>;

/** Engines by the models that calls name: of a deployment its own, or the one that it shares with its model. */
export function createCalledEngines(
  engines: CalledEngines,
  deployedEngines: Pick<DeployedEngines, 'engineFor'>,
): CalledEngines {
  const shared = ({ asked }: ResolvedModel, { base }: Deployed): ResolvedModel => ({ asked, entry: base });
  const isShared = ({ record }: Deployed): boolean => record.plan === 'ptu';

  const partOf = async <Part>(
    { record }: Deployed,
    pick: (engine: TextEngine) => Part | undefined,
    lacks: string,
  ): Promise<{ readonly engine: Part; release(): void }> => {
    const { engine, release }: Lease = await deployedEngines.engineFor(record);
    const part = pick(engine);
    if (part !== undefined) return { engine: part, release };
    release();
    throw new ServiceError('unsupported', `What runs deployment ${record.name} ${lacks}.`, { param: 'model' });
  };

  return {
    async engineFor(model) {
      const { deployed } = model;
      if (!deployed) return await engines.engineFor(model);
      return isShared(deployed)
        ? await engines.engineFor(shared(model, deployed))
        : await deployedEngines.engineFor(deployed.record);
    },
    async embeddingsFor(model) {
      const { deployed } = model;
      if (!deployed) return await engines.embeddingsFor(model);
      if (isShared(deployed)) return await engines.embeddingsFor(shared(model, deployed));
      const pick = ({ embeddings }: TextEngine): EmbeddingEngine | undefined => embeddings;
      return await partOf(deployed, pick, 'makes no vectors');
    },
    async rankingFor(model) {
      const { deployed } = model;
      if (!deployed) return await engines.rankingFor(model);
      if (isShared(deployed)) return await engines.rankingFor(shared(model, deployed));
      const pick = ({ ranking }: TextEngine): RankingEngine | undefined => ranking;
      return await partOf(deployed, pick, 'does not rank documents');
    },
  };
}
