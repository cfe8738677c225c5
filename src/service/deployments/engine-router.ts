import type { ResolvedDeployment, ResolvedModel } from '../../catalogue/model.ts';
import { ServiceError } from '../../core/error.ts';
import type { TextEngine } from '../../engines/engine.ts';
import type { EngineLease } from '../../engines/engine-registry.ts';
import type { ModelEngines } from '../model-engines.ts';
import type { DeploymentEngines } from './deployment-engines.ts';

type EngineRouter = Pick<ModelEngines, 'engineFor' | 'embeddingsFor' | 'rankingFor'>;

/** Selects the engine of a resolved model: a deployment's own engine, or the base model's engine for plan `ptu`. */
export function createEngineRouter(
  engines: EngineRouter,
  deploymentEngines: Pick<DeploymentEngines, 'engineFor'>,
): EngineRouter {
  const leasePart = async <Part>(
    { record }: ResolvedDeployment,
    pick: (engine: TextEngine) => Part | undefined,
    limitation: string,
  ): Promise<EngineLease<Part>> => {
    const { engine, release } = await deploymentEngines.engineFor(record);
    const part = pick(engine);
    if (part !== undefined) return { engine: part, release };
    release();
    throw new ServiceError('unsupported', `The engine of deployment ${record.name} ${limitation}.`, { param: 'model' });
  };

  const createRoute =
    <Part>(
      leaseBase: (model: ResolvedModel) => Promise<EngineLease<Part>>,
      leaseOwn: (deployment: ResolvedDeployment) => Promise<EngineLease<Part>>,
    ) =>
    async (model: ResolvedModel): Promise<EngineLease<Part>> => {
      const { requestedName, deployment } = model;
      if (!deployment) return await leaseBase(model);
      if (deployment.record.plan === 'ptu') return await leaseBase({ requestedName, entry: deployment.base });
      return await leaseOwn(deployment);
    };

  return {
    engineFor: createRoute(engines.engineFor, ({ record }) => deploymentEngines.engineFor(record)),
    embeddingsFor: createRoute(engines.embeddingsFor, (deployment) =>
      leasePart(deployment, ({ embeddings }) => embeddings, 'does not produce embeddings'),
    ),
    rankingFor: createRoute(engines.rankingFor, (deployment) =>
      leasePart(deployment, ({ ranking }) => ranking, 'does not rank documents'),
    ),
  };
}
