import { access, constants } from 'node:fs/promises';
import { createCatalogue } from '../catalogue/catalogue.ts';
import { expandCatalogue } from '../catalogue/expand.ts';
import type { Catalogue, ModelEntry } from '../catalogue/model.ts';
import { parseCatalogueAdditions } from '../catalogue/schema.ts';
import { readShippedCatalogue } from '../catalogue/shipped.ts';
import type { Config } from '../config/config.ts';
import { regionsOf } from '../config/regions.ts';
import { ServiceError } from '../core/error.ts';
import type { RegionId } from '../core/region.ts';
import type { Log } from '../core/telemetry.ts';
import { createJobQueue, type JobQueue } from '../jobs/queue.ts';
import { systemClock } from '../lib/clock.ts';
import { createConversationsOperator } from '../resources/conversations/operator.ts';
import type { ConversationsOperator } from '../resources/conversations/operator.ts';
import type { Keys } from '../resources/keys/key.ts';
import { createKeys } from '../resources/keys/service.ts';
import { sqliteDialect } from '../store/dialects/sqlite.ts';
import { openStore } from '../store/store.ts';
import type { Store } from '../store/store.ts';
import { createWeightsStore } from '../weights/weights-store.ts';
import type { WeightsStore } from '../weights/weights-store.ts';

/** Parts that the service and single commands open alike, each from the configuration. */

type ModelSections = Pick<Config, 'models' | 'weights' | 'aliases'>;

/** The shipped catalogue with the operator's additions over it. @throws ServiceError `invalid-request`. */
export async function openCatalogue({ models, weights, aliases }: ModelSections): Promise<Catalogue> {
  const additions = parseCatalogueAdditions({ models, weights, aliases });
  const parts = expandCatalogue(await readShippedCatalogue(), additions);
  for (const entry of parts.entries) await checkTemplate(entry);
  return createCatalogue(parts);
}

/** The operator hears of a file that is not there, and no caller. */
async function checkTemplate({ name, runs }: ModelEntry): Promise<void> {
  const file = runs.type === 'upstream' || runs.type === 'program' ? runs.remote.chatTemplate : undefined;
  if (file === undefined) return;
  const param = `models.${name}.chatTemplate`;
  await access(file, constants.R_OK).catch((error: unknown) => {
    throw new ServiceError('invalid-request', `${param}: there is no such file that can be read`, {
      param,
      cause: error,
    });
  });
}

export const openDatabase = (config: Config): Promise<Store> =>
  openStore({ dialect: sqliteDialect({ file: config.store.url.slice('sqlite:'.length) }) });

export interface OpenedKeys {
  readonly keys: Keys;
  readonly regions: readonly RegionId[];
  close(): Promise<void>;
}

export async function openKeys(config: Config): Promise<OpenedKeys> {
  const store = await openDatabase(config);
  return {
    keys: createKeys({ store, clock: systemClock }),
    regions: regionsOf(config).map(([id]) => id),
    close: () => store.close(),
  };
}

export interface OpenedConversations {
  readonly conversations: ConversationsOperator;
  close(): Promise<void>;
}

export async function openConversations(config: Config): Promise<OpenedConversations> {
  const store = await openDatabase(config);
  return {
    conversations: createConversationsOperator({ store, clock: systemClock }),
    close: () => store.close(),
  };
}

export interface OpenedJobs {
  readonly jobs: JobQueue;
  close(): Promise<void>;
}

export async function openJobQueue(config: Config): Promise<OpenedJobs> {
  const store = await openDatabase(config);
  return { jobs: createJobQueue({ jobs: store.jobs, clock: systemClock }), close: () => store.close() };
}

const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

export function openWeights(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
  log: Pick<Log, 'info' | 'warn'> = SILENT,
): WeightsStore {
  return createWeightsStore({
    folder: config.modelsFolder,
    extraFolders: config.extraModelsFolders,
    hubUrl: config.hubUrl === 'off' ? undefined : config.hubUrl,
    python: environment['PARLEY_PYTHON'] ?? 'python3',
    environment,
    fetch,
    clock: systemClock,
    log,
  });
}
