import { errorCodec } from '../../core/error-codec.ts';
import { ServiceError } from '../../core/error.ts';
import { openSharedEngine } from '../../engines/sharing/shared-engine.ts';
import { systemClock } from '../../lib/clock.ts';
import { createRpcPeer, type RpcPeer } from '../../lib/rpc-peer.ts';
import type { Capability } from '../capability.ts';
import { createService, type ListenAddress, type Service } from '../service.ts';
import { exitOnUnexpectedError } from '../last-resort.ts';
import { leaseHostedUnits } from './deployment-lease-table.ts';
import { createSharedQuotaCounters } from './shared-quota-counters.ts';
import type { PrimaryFunctions, WorkerFunctions, StartWorkerCommand } from './protocol.ts';

/** Interval of metrics reports to the primary, in ms. A killed worker loses at most this much. */
const METER_REPORT_MS = 1_000;

/** Time limit for the primary to expose the metrics of all workers, in ms; its own limit for slow workers is shorter. */
const METRICS_TIMEOUT_MS = 5_000;

/** Runs this process as a worker: a service whose engines the primary hosts. Exits with the primary. */
export function runWorker(capabilities: readonly Capability[]): void {
  let starting: Promise<Service> | undefined;

  const getService = async (): Promise<Service> => {
    if (!starting) throw new ServiceError('internal', 'the worker received a call before its start command');
    return await starting;
  };

  const primary: RpcPeer<PrimaryFunctions> = createRpcPeer<PrimaryFunctions, WorkerFunctions>({
    // A failed send needs no handling: `disconnect` ends this process.
    send: (message) => void process.send?.(message, undefined, undefined, () => undefined),
    handlers: {
      async start(command) {
        starting = openService(command);
        const service = await starting;
        exitOnUnexpectedError({ service, log: service.sharing.log, target: process });
        return await listen(service);
      },
      'engine.recall': async () => (await getService()).sharing.releaseIdle(),
      'metrics.read': async () => (await getService()).sharing.readMeter(),
      'deployment.invalidate': async (id) => (await getService()).sharing.invalidateDeployment(id),
      'models.replace': async (section) => (await getService()).sharing.replaceModels(section),
      'requests.abort': async () => (await getService()).abortRequests(),
      'database.refuse': async (problem) => (await getService()).sharing.databaseHealth.refuse(problem),
      'database.report': async (report) => (await getService()).sharing.databaseHealth.recordReport(report),
      drain: () => void drain(),
    },
    errors: errorCodec,
  });

  const openService = async (command: StartWorkerCommand): Promise<Service> => {
    const { config, worker, isPortShared, databaseProblem, databaseCorruption } = command;
    const service = await createService(config, {
      capabilities,
      worker,
      isPortShared,
      ...(databaseProblem !== null && { databaseProblem }),
      engineHost: {
        open: (model) => openSharedEngine(model, { host: primary, clock: systemClock }),
        getState: (model) => primary.call('model.state', model),
        leaseUnits: (id) => leaseHostedUnits(id, primary, systemClock),
      },
      quotas: createSharedQuotaCounters(primary),
      exposeAllMetrics: () => primary.call('metrics.expose', null, AbortSignal.timeout(METRICS_TIMEOUT_MS)),
    });
    const { databaseHealth } = service.sharing;
    if (databaseCorruption) databaseHealth.recordReport(databaseCorruption);
    databaseHealth.onReport((report) => {
      void primary.call('database.report', report).catch(() => undefined); // the primary has exited
    });
    return service;
  };

  async function listen(service: Service): Promise<readonly ListenAddress[]> {
    const addresses = await service.listen();
    void service.verifyTools();
    setInterval(() => void reportMeter(service), METER_REPORT_MS).unref();
    return addresses;
  }

  const reportMeter = async ({ sharing }: Service): Promise<void> =>
    await primary.call('metrics.report', await sharing.readMeter()).catch(() => undefined); // the primary has exited

  let draining: Promise<void> | undefined;

  function drain(): Promise<void> {
    draining ??= (async () => {
      const service = await starting?.catch(() => undefined);
      await service?.close();
      if (service) await reportMeter(service);
      process.exit(0);
    })();
    return draining;
  }

  process.on('message', (message) => primary.receive(message));
  process.on('disconnect', () => process.exit(1));
  process.on('SIGTERM', () => void drain());
  // The terminal sends Ctrl-C and hang-up to the whole process group; the primary decides when its workers stop.
  process.on('SIGINT', () => undefined);
  process.on('SIGHUP', () => undefined);
}
