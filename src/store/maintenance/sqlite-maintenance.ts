import { stat } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { getErrorCode } from '../../lib/error-code.ts';
import { STORE_BUSY_MS_MAX, STORE_FREE_SHARE_MAX, STORE_RECLAIM_PAGES } from '../limits.ts';
import type { DatabaseMaintenance, DatabaseUsage, TableUsage } from './maintenance.ts';

/** Value of the pragma `auto_vacuum` with which pages can be released in steps. */
const AUTO_VACUUM_INCREMENTAL = 2;

/** SQLite result code: another connection holds the lock. */
const SQLITE_BUSY = 5;

/** Maintains a SQLite file, with a connection of its own for each call. */
export function createSqliteMaintenance({ file }: { readonly file: string }): DatabaseMaintenance {
  const withDatabase = <T>(
    options: { readOnly?: boolean; timeout: number },
    work: (database: DatabaseSync) => T,
  ): T => {
    const database = new DatabaseSync(file, options);
    try {
      return work(database);
    } finally {
      database.close();
    }
  };
  return {
    readUsage: async () => ({
      ...withDatabase({ readOnly: true, timeout: STORE_BUSY_MS_MAX }, readDatabaseUsage),
      fileBytes: (await readSizeBytes(file)) ?? 0,
      logBytes: (await readSizeBytes(`${file}-wal`)) ?? 0,
    }),
    async reclaimStep() {
      try {
        // Without a timeout: another writer has precedence, and waiting would block the event loop.
        return withDatabase({ timeout: 0 }, reclaimStep);
      } catch (error) {
        if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return true;
        throw error;
      }
    },
    async compact() {
      withDatabase({ timeout: STORE_BUSY_MS_MAX }, (database) => {
        database.exec('pragma auto_vacuum = incremental');
        database.exec('vacuum');
        database.exec('pragma wal_checkpoint(truncate)');
      });
    },
  };
}

const readPragma = (database: DatabaseSync, name: string): number =>
  Number(Object.values(database.prepare(`pragma ${name}`).get() ?? {})[0] ?? 0);

function reclaimStep(database: DatabaseSync): boolean {
  if (readPragma(database, 'auto_vacuum') !== AUTO_VACUUM_INCREMENTAL) return false;
  const excess = (): number =>
    readPragma(database, 'freelist_count') - Math.ceil(readPragma(database, 'page_count') * STORE_FREE_SHARE_MAX);
  const pages = Math.min(excess(), STORE_RECLAIM_PAGES);
  if (pages <= 0) return false;
  // A prepared statement would release one page per call.
  database.exec(`pragma incremental_vacuum(${pages})`);
  return excess() > 0;
}

function readDatabaseUsage(database: DatabaseSync): Omit<DatabaseUsage, 'fileBytes' | 'logBytes'> {
  return {
    tables: readTables(database),
    freeBytes: readPragma(database, 'freelist_count') * readPragma(database, 'page_size'),
    givesBackSpace: readPragma(database, 'auto_vacuum') === AUTO_VACUUM_INCREMENTAL,
  };
}

/** Tables in which SQLite keeps a full-text index: NAME_data, NAME_idx and so on. */
const FULL_TEXT_PART = /^(index_terms)_(?:data|idx|content|docsize|config)$/;

function readTables(database: DatabaseSync): readonly TableUsage[] {
  const usage = database
    .prepare(
      `select coalesce(s.tbl_name, d.name) as owner, coalesce(s.type, 'table') as type, sum(d.pgsize) as bytes
       from dbstat d left join sqlite_schema s on s.name = d.name where d.aggregate = true group by 1, 2`,
    )
    .all();
  const sums = new Map<string, { tableBytes: number; indexBytes: number }>();
  for (const { owner, type, bytes } of usage) {
    const table = String(owner).replace(FULL_TEXT_PART, '$1');
    const sum = sums.get(table) ?? { tableBytes: 0, indexBytes: 0 };
    sum[type === 'index' ? 'indexBytes' : 'tableBytes'] += Number(bytes);
    sums.set(table, sum);
  }
  return [...sums]
    .map(([table, sum]) => ({ table, rows: countRows(database, table), ...sum }))
    .toSorted((a, b) => b.tableBytes + b.indexBytes - a.tableBytes - a.indexBytes);
}

function countRows(database: DatabaseSync, table: string): number | undefined {
  if (table.startsWith('sqlite_')) return undefined;
  return Number(database.prepare(`select count(*) as count from "${table.replaceAll('"', '""')}"`).get()?.['count']);
}

async function readSizeBytes(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (thrown) {
    if (getErrorCode(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}
