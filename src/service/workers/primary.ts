import type { Config } from '../../config/config.ts';
import { readModelsSection } from '../../config/config-file.ts';
import type { ModelsSection } from '../../config/config-file.ts';
import { createGuestDesk } from '../../engines/sharing/guest-desk.ts';
import type { Meter } from '../../core/telemetry.ts';
import { systemClock } from '../../lib/clock.ts';
import { createMeterSum } from '../../telemetry/meter-sum.ts';
import { createService } from '../service.ts';
import type { Service } from '../service.ts';
import { createCrew } from './crew.ts';
import type { Member } from './crew.ts';
import { createDeployedDesk } from './deployed-desk.ts';
import { findSharedPorts } from './shared-ports.ts';

/** Ours, in ms: a worker that does not tell its counts within this is in the sum with what it told last. */
const METRICS_MS_MAX = 1_000;

/** Ours, in ms: a worker that does not say within this that it released what it can is taken to use all it holds. */
const RECALL_MS_MAX = 1_000;

/** Ours, in ms: a worker that has not taken up the models within this is told of in the log. */
const RELOAD_MS_MAX = 10_000;

/** Ours, in ms: what a draining worker may take beyond the grace time, to break off what is left and to close. */
const END_MS_MAX = 10_000;

/** Ours, in ms: as long as an engine process may be silent. No call of ours takes a processor for a part of it. */
const SILENCE_MS_MAX = 30_000;

interface PrimaryNeeds {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** `false`: taken for a system that cannot, whether it can or not. */
  readonly canSharePorts?: boolean;
  /** How long a worker may say nothing before it is replaced, in ms. */
  readonly silenceMsMax?: number;
}

/**
 * A service whose requests are answered by `config.workers` processes. This one listens on nothing: it keeps the engines,
 * the first key and the downloads, adds up what is counted, and sees to it that the workers are there.
 */
export async function createPrimary(
  config: Config,
  { environment, canSharePorts = true, silenceMsMax = SILENCE_MS_MAX }: PrimaryNeeds,
): Promise<Service> {
  const service = await createService(config, {
    environment,
    isPrimary: true,
    onSwitch: (id) => void all(({ calls }) => calls.ask('deployed.switched', id)),
    async recall() {
      await all(({ calls }) => calls.ask('engine.recall', null, AbortSignal.timeout(RECALL_MS_MAX)));
    },
  });
  const { sharing } = service;
  const sum = createMeterSum(await sharing.readMeter());
  const crew = createCrew({
    size: config.workers,
    attend() {
      const desk = createGuestDesk((model) => sharing.share(model));
      const deployed = createDeployedDesk((id) => sharing.lend(id), desk);
      const counts = sum.join();
      return {
        answers: {
          ...desk.answers,
          ...deployed.answers,
          'quota.take': async (wish) => (await sharing.quotas.take(wish)) ?? null,
          'quota.spend'(spent) {
            for (const { subject, amounts } of spent) sharing.quotas.spend(subject, amounts);
          },
          'model.state': (model) => sharing.stateOf(model),
          'metrics.expose': expose,
          'metrics.report': counts.take,
        },
        take: counts.take,
        end() {
          desk.end();
          deployed.end();
          counts.leave();
        },
      };
    },
    silenceMsMax,
    drainMsMax: config.shutdownGraceMs + END_MS_MAX,
    log: sharing.log,
    writeLogLines: sharing.writeLogLines,
    clock: systemClock,
  });

  const all = async <Result>(ask: (member: Member) => Promise<Result>): Promise<PromiseSettledResult<Result>[]> =>
    await Promise.allSettled(crew.members().map(ask));

  const expose = async (): ReturnType<Meter['expose']> => {
    await all(async ({ calls, take }) =>
      take(await calls.ask('metrics.read', null, AbortSignal.timeout(METRICS_MS_MAX))),
    );
    return await sum.expose();
  };

  let models: Partial<ModelsSection> = {};

  return {
    ...service,
    async listen() {
      const { config: found, ...ports } = await findSharedPorts(config);
      const isPortShared = canSharePorts && ports.isPortShared;
      await sharing.work();
      if (!isPortShared) sharing.log.info('the primary accepts for its workers: this system cannot share ports');
      return await crew.start((worker) => ({
        // Lines for a person are made here, where one reads them.
        config: { ...found, ...models, log: { ...config.log, pretty: false } },
        worker,
        isPortShared,
      }));
    },
    async reloadModels(file) {
      const section = readModelsSection(file);
      // Here first: a worker may ask for the engine of any model that it knows.
      await sharing.useModels(section);
      models = section;
      const told = await all(({ calls }) => calls.ask('models.use', section, AbortSignal.timeout(RELOAD_MS_MAX)));
      for (const each of told)
        if (each.status === 'rejected')
          sharing.log.error('a worker did not read the models again', { error: each.reason });
      sharing.log.info('models were read again', { workers: told.length });
    },
    async close() {
      await crew.stop();
      await service.close();
    },
  };
}
