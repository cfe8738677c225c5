import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import type { UnverifiedBlobStore } from '../blobs/blob-store.ts';
import { openBlobStore } from '../blobs/open-blob-store.ts';
import { createCatalogue } from '../catalogue/catalogue.ts';
import { expandCatalogue } from '../catalogue/expand-catalogue.ts';
import { CONTEXT_TOKENS_WANTED } from '../engines/limits.ts';
import type { Catalogue, ModelEntry } from '../catalogue/model.ts';
import type { ServedContext } from '../catalogue/recommend.ts';
import { parseCatalogueAdditions } from '../catalogue/schema.ts';
import { readShippedCatalogue } from '../catalogue/shipped.ts';
import { NPM_REGISTRY_DEFAULT, type Config } from '../config/config.ts';
import { listRegions } from '../config/regions.ts';
import { ServiceError } from '../core/error.ts';
import type { RegionId } from '../core/region.ts';
import type { Log } from '../core/telemetry.ts';
import { createJobQueue, type JobQueue } from '../jobs/queue.ts';
import { systemClock } from '../lib/clock.ts';
import { createConversationsOperator, type ConversationsOperator } from '../resources/conversations/operator.ts';
import type { Keys } from '../resources/keys/key.ts';
import { createKeys } from '../resources/keys/service.ts';
import { createSqliteDialect } from '../store/dialects/sqlite.ts';
import type { DatabaseDamage } from '../store/database-damage.ts';
import { openStore, type Store } from '../store/store.ts';
import { addFolderIndex } from '../weights/folder-index.ts';
import { createHubIndex, type HubIndex } from '../weights/hub-index.ts';
import { createRuntimeStore, type RuntimeStore } from '../weights/runtime/runtime-store.ts';
import { getSpeechRuntime } from '../weights/runtime/speech-runtime.ts';
import { getCurrentPlatform } from '../weights/runtime/current-platform.ts';
import { backUpBeforeMigration } from './back-up-before-migration.ts';
import { getDatabaseFile } from './open-backups.ts';
import { getConfiguredTemplate } from './chat-template-file.ts';
import { createWeightsStore, type WeightsStore } from '../weights/weights-store.ts';

// Components that the service and single commands open in the same way, each from the configuration.

type ModelSections = Pick<Config, 'models' | 'weights' | 'aliases'>;

/** Opens the shipped catalogue, extended by the operator's entries. @throws ServiceError `invalid-request`. */
export async function openCatalogue({ models, weights, aliases }: ModelSections): Promise<Catalogue> {
  const additions = parseCatalogueAdditions({ models, weights, aliases });
  const expanded = expandCatalogue(await readShippedCatalogue(), additions);
  for (const entry of expanded.entries) await checkChatTemplate(entry);
  return createCatalogue(expanded);
}

/** Fails at startup when a chat template is unreadable, so that the operator learns of it and not a caller. */
async function checkChatTemplate(entry: ModelEntry): Promise<void> {
  const file = getConfiguredTemplate(entry);
  if (file === undefined) return;
  const param = `models.${entry.name}.chatTemplate`;
  await access(file, constants.R_OK).catch((error: unknown) => {
    throw new ServiceError('invalid-request', `${param}: cannot read the file ${file}`, {
      param,
      cause: error,
    });
  });
}

type OnDamage = (damage: DatabaseDamage) => void;

/**
 * Opens the database. An existing one that this version has to migrate is copied first.
 * @param onDamage Called for each query that found the database damaged.
 */
export async function openDatabase(config: Config, onDamage?: OnDamage): Promise<Store> {
  await backUpBeforeMigration(config);
  return await openMigratedDatabase(config, onDamage);
}

/** Opens and migrates the database without copying it. */
export const openMigratedDatabase = (config: Config, onDamage?: OnDamage): Promise<Store> =>
  openStore({ dialect: createSqliteDialect({ file: getDatabaseFile(config) }), ...(onDamage && { onDamage }) });

/** Opens the blob store, which verifies nothing by itself. @throws errors of `openBlobStore`. */
export const openConfiguredBlobs = (
  { blobs, data }: Pick<Config, 'blobs' | 'data'>,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<UnverifiedBlobStore> => openBlobStore({ url: blobs.url, folder: join(data, 'blobs'), environment });

export interface KeysHandle {
  readonly keys: Keys;
  /** The configured regions, in order. */
  readonly regions: readonly RegionId[];
  close(): Promise<void>;
}

export async function openKeys(config: Config): Promise<KeysHandle> {
  const store = await openDatabase(config);
  return {
    keys: createKeys({ store, clock: systemClock }),
    regions: listRegions(config).map(([id]) => id),
    close: () => store.close(),
  };
}

export interface ConversationsHandle {
  readonly conversations: ConversationsOperator;
  close(): Promise<void>;
}

export async function openConversations(config: Config): Promise<ConversationsHandle> {
  const store = await openDatabase(config);
  return {
    conversations: createConversationsOperator({ store, clock: systemClock }),
    close: () => store.close(),
  };
}

export interface JobQueueHandle {
  readonly jobs: JobQueue;
  close(): Promise<void>;
}

export async function openJobQueue(config: Config): Promise<JobQueueHandle> {
  const store = await openDatabase(config);
  return { jobs: createJobQueue({ jobs: store.jobs, clock: systemClock }), close: () => store.close() };
}

/** Log of commands, which print what matters themselves. */
export const SILENT_LOG: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

export function openWeights(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
  log: Pick<Log, 'info' | 'warn'> = SILENT_LOG,
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

/** Opens the index of the hub, and of the operator's folders where the hub cannot be reached. */
export const openHubIndex = ({ hubUrl, extraModelsFolders }: Config): HubIndex =>
  addFolderIndex(createHubIndex({ hubUrl: hubUrl === 'off' ? undefined : hubUrl, fetch }), extraModelsFolders);

/** Returns the context that the configuration serves with a model whose entry states none. */
export const getServedContext = ({ contextTokens, sequences }: Config['engine']): ServedContext => ({
  contextTokens: contextTokens ?? CONTEXT_TOKENS_WANTED,
  sequences,
});

export function openRuntimes(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
  log: Pick<Log, 'info'> = SILENT_LOG,
): RuntimeStore {
  return createRuntimeStore({
    folder: config.enginesFolder,
    runtime: () => getSpeechRuntime(getCurrentPlatform()),
    registryUrl: config.npmRegistryUrl,
    defaultRegistryUrl: NPM_REGISTRY_DEFAULT,
    environment,
    fetch,
    clock: systemClock,
    log,
  });
}
