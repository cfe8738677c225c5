import type { ResolvedDeployment, ResolvedModel } from '../../catalogue/model.ts';
import { ServiceError } from '../../core/error.ts';
import type { EmbeddingEngine, RankingEngine, TextEngine } from '../../engines/engine.ts';
import type { EngineLease } from '../../engines/engine-registry.ts';
import type { ModelEngines } from '../model-engines.ts';
import type { DeploymentEngines } from './deployment-engines.ts';

type EngineRouter = Pick<ModelEngines, 'engineFor' | 'embeddingsFor' | 'rankingFor'>;

/** Selects the engine of a resolved model: a deployment's own engine, or the base model's engine for plan `ptu`. */
export function createEngineRouter(
  engines: EngineRouter,
  deploymentEngines: Pick<DeploymentEngines, 'engineFor'>,
): EngineRouter {
  const toBaseModel = ({ requestedName }: ResolvedModel, { base }: ResolvedDeployment): ResolvedModel => ({
    requestedName,
    entry: base,
  });
  const usesBaseEngine = ({ record }: ResolvedDeployment): boolean => record.plan === 'ptu';

  const leasePart = async <Part>(
    { record }: ResolvedDeployment,
    pick: (engine: TextEngine) => Part | undefined,
    limitation: string,
  ): Promise<{ readonly engine: Part; release(): void }> => {
    const { engine, release }: EngineLease = await deploymentEngines.engineFor(record);
    const part = pick(engine);
    if (part !== undefined) return { engine: part, release };
    release();
    throw new ServiceError('unsupported', `The engine of deployment ${record.name} ${limitation}.`, { param: 'model' });
  };

  return {
    async engineFor(model) {
      const { deployment } = model;
      if (!deployment) return await engines.engineFor(model);
      return usesBaseEngine(deployment)
        ? await engines.engineFor(toBaseModel(model, deployment))
        : await deploymentEngines.engineFor(deployment.record);
    },
    async embeddingsFor(model) {
      const { deployment } = model;
      if (!deployment) return await engines.embeddingsFor(model);
      if (usesBaseEngine(deployment)) return await engines.embeddingsFor(toBaseModel(model, deployment));
      const pick = ({ embeddings }: TextEngine): EmbeddingEngine | undefined => embeddings;
      return await leasePart(deployment, pick, 'does not produce embeddings');
    },
    async rankingFor(model) {
      const { deployment } = model;
      if (!deployment) return await engines.rankingFor(model);
      if (usesBaseEngine(deployment)) return await engines.rankingFor(toBaseModel(model, deployment));
      const pick = ({ ranking }: TextEngine): RankingEngine | undefined => ranking;
      return await leasePart(deployment, pick, 'does not rank documents');
    },
  };
}
