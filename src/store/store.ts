import { AsyncLocalStorage } from 'node:async_hooks';
import { Kysely } from 'kysely';
import { ServiceError } from '../core/error.ts';
import { storageFailure } from '../core/storage-failure.ts';
import { assert } from '../lib/assert.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import type { StoreDialect } from './dialects/dialect.ts';
import { type BatchLineStore, createBatchLineStore } from './batch-lines.ts';
import { type BatchStore, createBatchStore } from './batches.ts';
import { type BackgroundStore, createBackgroundStore } from './background.ts';
import { type ConversationStore, createConversationStore } from './conversations.ts';
import { createDeploymentStore, type DeploymentStore } from './deployments.ts';
import { createFileStore, type FileStore } from './files.ts';
import { createFileTotals, type FileTotals } from './file-totals.ts';
import { createIndexCollectionStore, type IndexCollectionStore } from './index-collections.ts';
import { createIndexDocumentStore, type IndexDocumentStore } from './index-documents.ts';
import { createIndexSearchStore, type IndexSearchStore } from './index-search.ts';
import { createItemStore, type ItemStore } from './items.ts';
import { createJobStore, type JobStore } from './jobs.ts';
import { createKeyStore, type KeyStore } from './keys.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS } from './migrations/migrations.ts';
import { createResearchStore, type ResearchStore } from './research.ts';
import { createResponseEventStore, type ResponseEventStore } from './response-events.ts';
import { createResponseStore, type ResponseStore } from './responses.ts';
import type { Run } from './run.ts';
import type { Database } from './schema/database.ts';
import { createTaskStore, type TaskStore } from './tasks.ts';
import { createTextStore, type TextStore } from './texts.ts';
import { createTranscriptionStore, type TranscriptionStore } from './transcriptions.ts';
import { createVocabularyStore, type VocabularyStore } from './vocabularies.ts';

/** The nouns, each with all of its SQL. */
export interface Tables {
  readonly batches: BatchStore;
  readonly batchLines: BatchLineStore;
  readonly background: BackgroundStore;
  readonly conversations: ConversationStore;
  readonly deployments: DeploymentStore;
  readonly files: FileStore;
  readonly fileTotals: FileTotals;
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
  readonly texts: TextStore;
  readonly transcriptions: TranscriptionStore;
  readonly vocabularies: VocabularyStore;
}

/** Every failure of the database is a ServiceError `internal` with the reason as its cause; `overloaded` where its disk is full. */
export interface Store extends Tables {
  /**
   * All of `work` or nothing. Only `work`'s own tables may be used in it, and only they may be awaited: on SQLite there
   * is one connection, and everyone else waits for it.
   */
  transaction<T>(work: (tables: Tables) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface StoreNeeds {
  readonly dialect: StoreDialect;
  readonly clock?: Clock;
}

/** @throws ServiceError `internal`, whose message names the database: cannot be opened, or is of a newer version. */
export async function openStore({ dialect, clock = systemClock }: StoreNeeds): Promise<Store> {
  const db = await openDatabase(dialect, clock);
  // A query on the outer tables inside a transaction would wait for its own end, for ever.
  const scope = new AsyncLocalStorage<{ isOpen: boolean }>();
  const outside: Run = (query) => {
    assert(!scope.getStore()?.isOpen, 'inside a transaction only its own tables are used');
    return translated(query);
  };

  return {
    ...tablesOf(db, outside, dialect),
    transaction: (work) =>
      outside(() =>
        db.transaction().execute(async (transaction) => {
          const inside = { isOpen: true };
          try {
            return await scope.run(inside, () => work(tablesOf(transaction, translated, dialect)));
          } finally {
            inside.isOpen = false;
          }
        }),
      ),
    close: () => db.destroy(),
  };
}

const tablesOf = (db: Kysely<Database>, run: Run, { fullText }: StoreDialect): Tables => ({
  batches: createBatchStore(db, run),
  batchLines: createBatchLineStore(db, run),
  background: createBackgroundStore(db, run),
  conversations: createConversationStore(db, run),
  deployments: createDeploymentStore(db, run),
  files: createFileStore(db, run),
  fileTotals: createFileTotals(db, run),
  indexCollections: createIndexCollectionStore(db, run),
  indexDocuments: createIndexDocumentStore(db, run, fullText),
  indexSearch: createIndexSearchStore(db, run, fullText),
  items: createItemStore(db, run),
  jobs: createJobStore(db, run),
  keys: createKeyStore(db, run),
  research: createResearchStore(db, run),
  responseEvents: createResponseEventStore(db, run),
  responses: createResponseStore(db, run),
  tasks: createTaskStore(db, run),
  texts: createTextStore(db, run),
  transcriptions: createTranscriptionStore(db, run),
  vocabularies: createVocabularyStore(db, run),
});

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
    throw new ServiceError('internal', `The database cannot be opened: ${dialect.name}: ${reason}`, { cause: error });
  }
}

const translated: Run = async (query) => {
  try {
    return await query();
  } catch (error) {
    throw storageFailure(error);
  }
};
