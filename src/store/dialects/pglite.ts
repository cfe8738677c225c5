import { PostgresDialect, type PostgresPoolClient, type PostgresQueryResult } from 'kysely';
import { createSemaphore } from '../../lib/semaphore.ts';
import type { StoreDialect } from './dialect.ts';
import { postgresFullText } from './postgres-full-text.ts';

/** The part of a PGlite instance that the dialect uses. */
interface PGlite {
  query(
    sql: string,
    parameters: unknown[],
  ): Promise<{ readonly rows: unknown[]; readonly affectedRows?: number | undefined }>;
  close(): Promise<void>;
}

/**
 * Postgres inside the process, for the contract tests of the store: they prove that the SQL does not depend on SQLite.
 * The instance is an argument because only tests have the package.
 */
export function createPgliteDialect(pglite: PGlite): StoreDialect {
  return {
    name: 'PGlite',
    open: () => Promise.resolve(new PostgresDialect({ pool: createPool(pglite) })),
    // One process, one connection: no other process can be migrating.
    lockForMigration: () => Promise.resolve(),
    bytesType: 'bytea',
    fullText: postgresFullText,
  };
}

/** A pool with one connection, so that nothing else runs inside a transaction. */
function createPool(pglite: PGlite) {
  const connections = createSemaphore({ permits: 1 });
  return {
    async connect(): Promise<PostgresPoolClient> {
      const release = await connections.acquire();
      return { query: createQuery(pglite), release };
    },
    end: () => pglite.close(),
  };
}

/**
 * Returns the query function of a connection. It replaces NUL in text parameters by U+FFFD, because Postgres rejects NUL
 * in text. No ID contains U+FFFD, so an ID with NUL finds nothing. Client texts are stored as JSON, which escapes NUL.
 */
function createQuery(pglite: PGlite): PostgresPoolClient['query'] {
  const query = async (sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<unknown>> => {
    const { rows, affectedRows = 0 } = await pglite.query(sql, parameters.map(replaceNul));
    // PGlite does not report the command. Kysely needs it to tell whether the number of rows is that of changed rows.
    return { command: 'UPDATE', rowCount: affectedRows, rows };
  };
  // Kysely passes a cursor only for streamed queries, which the store does not have.
  return query as PostgresPoolClient['query'];
}

const replaceNul = (value: unknown): unknown => (typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value);
