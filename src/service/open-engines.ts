import { createModelGoneError } from './model-errors.ts';
import { createReplaceableCatalogue } from '../catalogue/catalogue.ts';
import type { ModelsSection } from '../config/config-file.ts';
import { omitNullish } from '../lib/omit-nullish.ts';
import { WEIGHTS_CHECK_BYTES_PER_SECOND, WEIGHTS_CHECK_DELAY_MS } from '../weights/limits.ts';
import { hashInBackground } from '../weights/verification/hash-in-background.ts';
import { createWeightsMonitor } from './weights-monitor.ts';
import type { WeightsCheckOutcome } from '../core/telemetry.ts';
import { createDeploymentDirectory } from '../resources/deployments/directory.ts';
import { openDeploymentEngines } from './deployments/open-deployment-engines.ts';
import { resolveEngineSettings } from './engine-settings.ts';
import { createModelEngines } from './model-engines.ts';
import { openCatalogue, openRuntimes, openWeights } from './open-components.ts';
import { openDeployments } from './open-deployments.ts';
import type { ServiceContext } from './service-context.ts';

/** Opens the catalogue, everything that runs its models, and the deployments. */
export async function openEngines(
  context: ServiceContext,
  { onWeightsChecked }: { readonly onWeightsChecked: (outcome: WeightsCheckOutcome) => void },
) {
  const { config, overrides, environment, clock, log, store, openModule } = context;
  const directory = await openModule('deployment directory', () => createDeploymentDirectory({ store, log }));
  await directory.refresh();
  const catalogue = createReplaceableCatalogue(await openCatalogue(config), directory);
  const weights = overrides.weights ?? openWeights(config, environment, log);
  const { engineHost: host, reclaimUnused } = overrides;
  const runtimes = openRuntimes(config, environment, log);
  // The primary checks weights for its workers.
  const monitor = host
    ? undefined
    : await openModule('weights monitor', () =>
        createWeightsMonitor({
          weights,
          log,
          hash: (path, signal) => hashInBackground({ path, bytesPerSecond: WEIGHTS_CHECK_BYTES_PER_SECOND }, signal),
          onChecked: onWeightsChecked,
          delayMs: overrides.weightsCheckDelayMs ?? WEIGHTS_CHECK_DELAY_MS,
        }),
      );
  const engineDeps = {
    catalogue,
    weights,
    runtimes,
    environment,
    log,
    clock,
    ...omitNullish({ host, reclaimUnused, monitor }),
  };
  const engineSettings = await resolveEngineSettings(config, engineDeps);
  const deployments = openDeployments(context, { catalogue, directory });
  const engines = await openModule(
    'engines',
    () => overrides.engines ?? createModelEngines({ ...engineDeps, ...engineSettings }),
  );
  catalogue.setCallableCheck(async (entry) => {
    const { state } = await engines.getState(entry);
    return state !== 'missing' && state !== 'off';
  });
  const deploymentEngines = await openModule('deployment engines', () =>
    openDeploymentEngines({
      ...engineDeps,
      settings: engineSettings,
      drainMs: config.deployments.drainMs,
      onServingStatus: (id, local) => deployments.recordServingStatus(id, local),
      ...omitNullish({ onUnitsReplaced: overrides.onUnitsReplaced }),
    }),
  );
  return {
    directory,
    catalogue,
    engines,
    deployments,
    deploymentEngines,
    jobs: {
      deployment: deployments.createJobHandler({
        deployed: deploymentEngines.local,
        async prepare({ baseModel }) {
          const entry = catalogue.find(baseModel);
          if (!entry) throw createModelGoneError('overloaded', baseModel);
          const { engine, release } = await engines.engineFor({ requestedName: baseModel, entry });
          await engine.loadModel().finally(release);
        },
      }),
    },
    replaceModels: async (section: ModelsSection): Promise<void> => {
      catalogue.replace(await openCatalogue(section));
      await engines.closeUnusedServers(catalogue.list());
    },
  };
}

export type EnginesModule = Awaited<ReturnType<typeof openEngines>>;
