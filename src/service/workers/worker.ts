// Main file of a worker: a service of its own, but for the engines, which the primary keeps. Ends with the primary.
import { errorCodec } from '../../core/error-codec.ts';
import { ServiceError } from '../../core/error.ts';
import { openSharedEngine } from '../../engines/sharing/shared-engine.ts';
import { systemClock } from '../../lib/clock.ts';
import { createMessageCalls } from '../../lib/message-calls.ts';
import type { MessageCalls } from '../../lib/message-calls.ts';
import { createService } from '../service.ts';
import type { ListenAddress, Service } from '../service.ts';
import { holdLentUnits } from './lent-units.ts';
import { createToldQuotas } from './told-quotas.ts';
import type { PrimaryFunctions, WorkerFunctions, WorkerOrder } from './protocol.ts';

/** Ours, in ms: how often the primary hears what was counted; a worker that is killed takes at most so much with it. */
const REPORT_MS = 1_000;

/** Ours, in ms: the primary waits for slow workers for less. */
const METRICS_MS_MAX = 5_000;

let beginning: Promise<Service> | undefined;

const begun = async (): Promise<Service> => {
  if (!beginning) throw new ServiceError('internal', 'a worker is asked before it was told to begin');
  return await beginning;
};

const primary: MessageCalls<PrimaryFunctions> = createMessageCalls<PrimaryFunctions, WorkerFunctions>({
  // Without a primary this process ends, which `disconnect` sees to.
  send: (message) => void process.send?.(message, undefined, undefined, () => undefined),
  answers: {
    async begin(order) {
      beginning = open(order);
      return await listen(await beginning);
    },
    'engine.recall': async () => (await begun()).sharing.releaseIdle(),
    'metrics.read': async () => (await begun()).sharing.readMeter(),
    'deployed.switched': async (id) => (await begun()).sharing.deploymentSwitched(id),
    'models.use': async (section) => (await begun()).sharing.useModels(section),
    drain: () => void drain(),
  },
  errors: errorCodec,
});

const open = ({ config, worker, isPortShared }: WorkerOrder): Promise<Service> =>
  createService(config, {
    worker,
    isPortShared,
    engineHost: {
      open: (model, parse) => openSharedEngine({ host: primary, model, parse, clock: systemClock }),
      stateOf: (model) => primary.ask('model.state', model),
      holdUnits: (id) => holdLentUnits(id, primary, systemClock),
    },
    quotas: createToldQuotas(primary),
    exposeAll: () => primary.ask('metrics.expose', null, AbortSignal.timeout(METRICS_MS_MAX)),
  });

async function listen(service: Service): Promise<readonly ListenAddress[]> {
  const addresses = await service.listen();
  void service.prepareTools();
  setInterval(() => void report(service), REPORT_MS).unref();
  return addresses;
}

const report = async ({ sharing }: Service): Promise<void> =>
  await primary.ask('metrics.report', await sharing.readMeter()).catch(() => undefined); // the primary has gone

let draining: Promise<void> | undefined;

function drain(): Promise<void> {
  draining ??= (async () => {
    const service = await beginning?.catch(() => undefined);
    await service?.close();
    if (service) await report(service);
    process.exit(0);
  })();
  return draining;
}

process.on('message', (message) => primary.receive(message));
process.on('disconnect', () => process.exit(1));
process.on('SIGTERM', () => void drain());
// The terminal's Ctrl-C and its end reach the whole process group; the primary decides what becomes of its workers.
process.on('SIGINT', () => undefined);
process.on('SIGHUP', () => undefined);
