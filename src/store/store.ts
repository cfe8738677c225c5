import { AsyncLocalStorage } from 'node:async_hooks';
import { Kysely } from 'kysely';
import { ServiceError } from '../core/error.ts';
import { mapStorageError } from '../core/storage-error.ts';
import { assert } from '../lib/assert.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import type { StoreDialect } from './dialects/dialect.ts';
import { type BatchLineStore, createBatchLineStore } from './batch-lines.ts';
import { type BatchStore, createBatchStore } from './batches.ts';
import { type BackgroundStore, createBackgroundStore } from './background.ts';
import { type ConversationStore, createConversationStore } from './conversations.ts';
import { createDeploymentStore, type DeploymentStore } from './deployments.ts';
import { createBlobHashStore, type BlobHashStore } from './blob-hashes.ts';
import { createFileStore, type FileStore } from './files.ts';
import { createFileTotalsStore, type FileTotalsStore } from './file-totals.ts';
import { createIndexCollectionStore, type IndexCollectionStore } from './index-collections.ts';
import { createIndexDocumentStore, type IndexDocumentStore } from './index-documents.ts';
import { createIndexSearchStore, type IndexSearchStore } from './index-search.ts';
import { createItemStore, type ItemStore } from './items.ts';
import { createJobStore, type JobStore } from './jobs.ts';
import { createKeyStore, type KeyStore } from './keys.ts';
import { createDatabaseDamagedError, findDatabaseDamage, type DatabaseDamage } from './database-damage.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS } from './migrations/migrations.ts';
import { createResearchStore, type ResearchStore } from './research.ts';
import { createResponseEventStore, type ResponseEventStore } from './response-events.ts';
import { createResponseStore, type ResponseStore } from './responses.ts';
import type { Database } from './schema/database.ts';
import { createTaskStore, type TaskStore } from './tasks.ts';
import { createFileTextStore, type FileTextStore } from './file-texts.ts';
import { createTranscriptionStore, type TranscriptionStore } from './transcriptions.ts';
import { createUploadStore, type UploadStore } from './uploads.ts';
import { createVocabularyStore, type VocabularyStore } from './vocabularies.ts';

/** Runs a query: checks the transaction context before it, and translates database errors after it. */
type RunQuery = <T>(query: () => Promise<T>) => Promise<T>;

/** One store per subject; each holds all SQL of its tables. */
export interface Tables {
  readonly batches: BatchStore;
  readonly batchLines: BatchLineStore;
  readonly background: BackgroundStore;
  readonly blobHashes: BlobHashStore;
  readonly conversations: ConversationStore;
  readonly deployments: DeploymentStore;
  readonly files: FileStore;
  readonly fileTotals: FileTotalsStore;
  readonly indexCollections: IndexCollectionStore;
  readonly indexDocuments: IndexDocumentStore;
  readonly indexSearch: IndexSearchStore;
  readonly items: ItemStore;
  readonly jobs: JobStore;
  readonly keys: KeyStore;
  readonly research: ResearchStore;
  readonly responseEvents: ResponseEventStore;
  readonly responses: ResponseStore;
  readonly tasks: TaskStore;
  readonly texts: FileTextStore;
  readonly transcriptions: TranscriptionStore;
  readonly uploads: UploadStore;
  readonly vocabularies: VocabularyStore;
}

export interface TransactionOptions {
  /**
   * Whether the transaction may use the space that a full disk keeps, because it frees space or the service cannot start
   * without it. `work` may then be called twice.
   */
  readonly usesReserve?: boolean;
}

/**
 * Opened database. Database errors become ServiceError `internal` with their cause, or `overloaded` if the disk is
 * full.
 */
export interface Store extends Tables {
  /**
   * Commits all of `work` or nothing. `work` may use and await only the tables it is given: SQLite has one connection,
   * and all other writes wait for the transaction.
   */
  transaction<T>(work: (tables: Tables) => Promise<T>, options?: TransactionOptions): Promise<T>;
  close(): Promise<void>;
}

export interface StoreOptions {
  readonly dialect: StoreDialect;
  readonly clock?: Clock;
  /** Called for each query that found the database damaged. */
  readonly onDamage?: (damage: DatabaseDamage) => void;
}

/**
 * @throws ServiceError `internal`, naming the database, if it cannot be opened or a newer version of Parley wrote it.
 */
export async function openStore({ dialect, clock = systemClock, onDamage }: StoreOptions): Promise<Store> {
  const runTranslatingErrors = createRunTranslatingErrors(onDamage);
  const db = await openDatabase(dialect, clock);
  // A query on the outer tables inside a transaction would wait forever for the end of that transaction.
  const transactionContext = new AsyncLocalStorage<{ isOpen: boolean }>();
  const runOutside: RunQuery = (query) => {
    assert(!transactionContext.getStore()?.isOpen, 'a transaction uses only the tables it was given');
    return runTranslatingErrors(query);
  };

  return {
    ...createTables(db, runOutside, dialect),
    transaction: (work, { usesReserve = false } = {}) =>
      runOutside(async () => {
        const run = () =>
          db.transaction().execute(async (transaction) => {
            const inside = { isOpen: true };
            try {
              return await transactionContext.run(inside, () =>
                work(createTables(transaction, runTranslatingErrors, dialect)),
              );
            } finally {
              inside.isOpen = false;
            }
          });
        return usesReserve && dialect.reserve ? await dialect.reserve.use(run) : await run();
      }),
    close: () => db.destroy(),
  };
}

function createTables(db: Kysely<Database>, run: RunQuery, { fullText }: StoreDialect): Tables {
  const tables: Tables = {
    batches: createBatchStore(db),
    batchLines: createBatchLineStore(db),
    background: createBackgroundStore(db),
    blobHashes: createBlobHashStore(db),
    conversations: createConversationStore(db),
    deployments: createDeploymentStore(db),
    files: createFileStore(db),
    fileTotals: createFileTotalsStore(db),
    indexCollections: createIndexCollectionStore(db),
    indexDocuments: createIndexDocumentStore(db, fullText),
    indexSearch: createIndexSearchStore(db, fullText),
    items: createItemStore(db),
    jobs: createJobStore(db),
    keys: createKeyStore(db),
    research: createResearchStore(db),
    responseEvents: createResponseEventStore(db),
    responses: createResponseStore(db),
    tasks: createTaskStore(db),
    texts: createFileTextStore(db),
    transcriptions: createTranscriptionStore(db),
    uploads: createUploadStore(db),
    vocabularies: createVocabularyStore(db),
  };
  const wrapped: unknown = Object.fromEntries(
    Object.entries(tables).map(([name, table]) => [name, wrapQueries(table, run)]),
  );
  return wrapped as Tables;
}

type Queries = Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>;

const wrapQueries = (table: Queries, run: RunQuery): Queries =>
  Object.fromEntries(
    Object.entries(table).map(([name, query]) => [name, (...args: readonly unknown[]) => run(() => query(...args))]),
  );

async function openDatabase(dialect: StoreDialect, clock: Clock): Promise<Kysely<Database>> {
  let db: Kysely<Database> | undefined;
  try {
    db = new Kysely<Database>({ dialect: await dialect.open() });
    await migrate(db, { dialect, migrations: MIGRATIONS, clock });
    return db;
  } catch (error) {
    await db?.destroy();
    if (error instanceof ServiceError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new ServiceError('internal', `Cannot open the database ${dialect.name}: ${reason}`, { cause: error });
  }
}

const createRunTranslatingErrors =
  (onDamage: StoreOptions['onDamage']): RunQuery =>
  async (query) => {
    try {
      return await query();
    } catch (error) {
      const damage = findDatabaseDamage(error);
      if (!damage) throw mapStorageError(error);
      onDamage?.(damage);
      throw createDatabaseDamagedError(damage);
    }
  };
