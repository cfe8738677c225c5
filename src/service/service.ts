import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createReplaceableCatalogue } from '../catalogue/catalogue.ts';
import { familyOf } from '../catalogue/families/families.ts';
import type { Catalogue } from '../catalogue/model.ts';
import type { Config } from '../config/config.ts';
import { readModelsSection } from '../config/config-file.ts';
import { listenersOf, regionsOf } from '../config/regions.ts';
import { ServiceError } from '../core/error.ts';
import { systemIds } from '../core/id.ts';
import type { RegionId } from '../core/region.ts';
import type { Log } from '../core/telemetry.ts';
import { openAdmission } from '../generation/admission.ts';
import type { Admission } from '../generation/admission.ts';
import { createGenerate } from '../generation/generate.ts';
import { logOnlyLedger } from '../generation/ledger.ts';
import type { Ledger } from '../generation/ledger.ts';
import { createHttp } from '../http/server.ts';
import { createFile } from '../lib/durable-file.ts';
import { systemClock } from '../lib/clock.ts';
import type { Clock } from '../lib/clock.ts';
import { chatCompletions } from '../protocols/compatible/chat-completions/endpoint.ts';
import { modelGet, modelList } from '../protocols/compatible/models/endpoint.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { ensureFirstKey } from '../resources/keys/first-key.ts';
import type { Keys } from '../resources/keys/key.ts';
import { createKeys } from '../resources/keys/service.ts';
import type { Store } from '../store/store.ts';
import { createHeldStream } from '../telemetry/held-stream.ts';
import type { HeldStream } from '../telemetry/held-stream.ts';
import { createLog, logFile } from '../telemetry/log.ts';
import { createMeter } from '../telemetry/meter.ts';
import { prettyLines } from '../telemetry/pretty.ts';
import type { ReportProgress } from '../weights/progress.ts';
import type { WeightsStore } from '../weights/weights-store.ts';
import { createModelEngines } from './model-engines.ts';
import type { ModelEngines } from './model-engines.ts';
import { openCatalogue, openDatabase, openWeights } from './parts.ts';
import { DEFAULT_MODEL, readiness, report } from './readiness.ts';
import type { Report } from './readiness.ts';

/** What a test or another program may put in the place of a part. */
export interface Parts {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Store;
  readonly weights: WeightsStore;
  readonly engines: ModelEngines;
  readonly admission: Admission;
  readonly ledger: Ledger;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface ListenAddress {
  readonly region: RegionId;
  readonly url: string;
}

export interface Service {
  readonly keys: Keys;
  /** Opens the sockets; requests are answered from here on, with 503 while a model is not there yet. */
  listen(): Promise<readonly ListenAddress[]>;
  /** The first key, made at the first start; undefined when keys exist and its file is gone. */
  firstKey(): Promise<{ readonly secret: string; readonly isNew: boolean } | undefined>;
  /** Downloads what the default model lacks and starts its engine. @throws ServiceError with the reason. */
  prepare(options: { readonly signal: AbortSignal; readonly onProgress: ReportProgress }): Promise<void>;
  report(): Promise<Report>;
  /** Log lines wait until what comes back is called: something else has the terminal. */
  holdLog(): () => void;
  /** Reads the models of the configuration file again. @throws ServiceError; then they stay as they are. */
  reloadModels(file: string): Promise<void>;
  /** Stops taking requests, lets running ones end within the grace time, then ends everything that was started. */
  close(): Promise<void>;
}

/** What is answered without an endpoint, as http names it. */
const OTHER_OPERATIONS = ['probe.health', 'probe.ready', 'probe.metrics', 'unserved', 'unknown'];

/** The only place that joins the parts. */
export async function createService(config: Config, overrides: Partial<Parts> = {}): Promise<Service> {
  const clock = overrides.clock ?? systemClock;
  const environment = overrides.environment ?? process.env;
  const logStream = createHeldStream(process.stderr);
  const log = overrides.log ?? openLog(config, logStream);
  mkdirSync(config.data, { recursive: true, mode: 0o700 });
  const store = overrides.store ?? (await openDatabase(config));
  const keys = createKeys({ store, clock });
  const catalogue = createReplaceableCatalogue(await openCatalogue(config));
  const weights = overrides.weights ?? openWeights(config, environment, log);
  const engines = overrides.engines ?? openEngines(config, { catalogue, weights, environment, log, clock });
  const generate = createGenerate({
    catalogue,
    engineFor: (model) => engines.engineFor(model),
    styleOf: ({ entry }) => familyOf(entry.runs.type === 'weights' ? entry.runs.family : 'template'),
    admission: overrides.admission ?? openAdmission,
    ledger: overrides.ledger ?? logOnlyLedger,
  });

  const models = { catalogue: () => catalogue, served: ['chat'] } as const;
  const endpoints: readonly Endpoint[] = [
    chatCompletions({ generate, catalogue: () => catalogue, clock, strict: config.strict }),
    modelList(models),
    modelGet(models),
  ];
  const regions = regionsOf(config).map(([id]) => id);
  const about = { catalogue, engines, served: endpoints, regions, clock };
  const meter = createMeter({ operations: [...endpoints.map((endpoint) => endpoint.operation), ...OTHER_OPERATIONS] });
  const http = await createHttp({
    endpoints,
    ...addressesOf(config),
    authenticate: (secret) => keys.authenticate(secret),
    probes: { ready: async () => ({ ...(await readiness(about)) }) },
    operatorToken: await operatorToken(config.operatorTokenFile),
    cors: config.cors,
    limits: {
      bodyBytesMax: config.limits.bodyBytesMax,
      keepAliveMs: config.limits.keepAliveMs,
      deadlinePlainMs: config.limits.deadlinePlainMs,
      deadlineStreamMs: config.limits.deadlineStreamMs,
    },
    ids: systemIds,
    clock,
    log,
    meter,
  });

  return {
    keys,
    async listen() {
      const bound = await http.listen().catch((error: unknown) => {
        throw cannotListen(error);
      });
      return bound.map(({ host, port, region }) => ({
        region,
        url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
      }));
    },
    firstKey: async () => {
      const [region] = regions;
      return region && (await ensureFirstKey({ keys, keyFile: config.keyFile, region }));
    },
    async prepare(options) {
      const entry = catalogue.find(DEFAULT_MODEL);
      if (entry) await engines.prepare(entry, options);
    },
    report: () => report(about),
    holdLog: () => logStream.hold(),
    async reloadModels(file) {
      catalogue.replace(await openCatalogue(readModelsSection(file)));
      log.info('models were read again', { models: catalogue.list().length });
    },
    async close() {
      await http.close({ graceMs: config.shutdownGraceMs });
      await engines.close();
      await store.close();
    },
  };
}

/** On standard error: standard output belongs to what a person or a script asked for. */
function openLog({ log: { level, pretty } }: Config, stream: HeldStream): Log {
  const isPretty = pretty === 'auto' ? process.stderr.isTTY : pretty;
  return createLog({ level, destination: isPretty ? prettyLines(stream) : logFile(2) });
}

function cannotListen(error: unknown): ServiceError {
  const reason = error instanceof Error ? error.message : String(error);
  return new ServiceError('invalid-request', `The address cannot be used: ${reason}. Another one: --port, --host.`, {
    param: 'port',
  });
}

interface EngineNeeds {
  readonly catalogue: Catalogue;
  readonly weights: WeightsStore;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly clock: Clock;
}

function openEngines(config: Config, needs: EngineNeeds): ModelEngines {
  const { engine, limits } = config;
  needs.log.info('engine settings', { threads: engine.threads, sequences: engine.sequences, gpu: String(engine.gpu) });
  return createModelEngines({
    ...needs,
    kind: engine.kind,
    contextTokens: engine.contextTokens,
    llama: {
      sequences: engine.sequences,
      threads: engine.threads,
      gpu: engine.gpu,
      queuePlacesMax: limits.queuePlaces,
      queueWaitMsMax: limits.queueWaitMs,
      runFolder: join(config.data, 'run'),
    },
  });
}

/** Listeners and host rules in http's words. */
function addressesOf(config: Config) {
  const listeners = listenersOf(config).flatMap(({ host, port, regions }) => {
    const fallback = regions.find(({ region }) => region.hosts.length === 0) ?? regions[0];
    if (!fallback) return [];
    const { deprecated, deprecatedHosts } = fallback.region;
    const isWhole = deprecated !== undefined && deprecatedHosts.length === 0;
    return [{ host, port, region: fallback.id, ...(isWhole ? { deprecated: toDeprecation(deprecated) } : {}) }];
  });
  const hosts = regionsOf(config).flatMap(([region, { hosts: patterns, deprecatedHosts, deprecated }]) => [
    ...deprecatedHosts.map((pattern) => ({
      pattern,
      region,
      ...(deprecated ? { deprecated: toDeprecation(deprecated) } : {}),
    })),
    ...patterns.map((pattern) => ({ pattern, region })),
  ]);
  return { listeners, hosts };
}

const toDeprecation = ({ since, link }: { readonly since: string; readonly link: string }) => ({
  since: Math.floor(Date.parse(since) / 1000),
  successor: link,
});

/** Made at the first start; opens /ready and /metrics to machines elsewhere. */
async function operatorToken(file: string): Promise<string> {
  await createFile(file, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  return (await readFile(file, 'utf8')).trim();
}
