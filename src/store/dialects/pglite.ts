import type { PGlite } from 'kysely';
import { PGliteDialect } from 'kysely';
import type { StoreDialect } from './dialect.ts';
import { postgresFullText } from './postgres-full-text.ts';

/**
 * Postgres inside the process. It runs the store's contract, so that nothing is shaped by SQLite alone; the instance is
 * an argument, because the package is there for development only.
 */
export function pgliteDialect(pglite: PGlite): StoreDialect {
  return {
    name: 'PGlite',
    open: () => Promise.resolve(new PGliteDialect({ pglite: withoutNul(pglite) })),
    // One process, one connection: nobody else can be migrating.
    lockForMigration: () => Promise.resolve(),
    bytesType: 'bytea',
    fullText: postgresFullText,
  };
}

/**
 * Postgres has no NUL in a text, and fails where one is asked for: here it becomes U+FFFD, as bytes do that are no text. No
 * id of ours has that, so an id with NUL finds nothing. What callers write is kept as JSON, which escapes it.
 */
const withoutNul = (pglite: PGlite): PGlite => ({
  get closed() {
    return pglite.closed;
  },
  get ready() {
    return pglite.ready;
  },
  get waitReady() {
    return pglite.waitReady;
  },
  close: () => pglite.close(),
  query: queryOf(pglite),
  transaction: (work) =>
    pglite.transaction((inside) => work({ query: queryOf(inside), rollback: () => inside.rollback() })),
});

const queryOf =
  (pglite: Pick<PGlite, 'query'>): PGlite['query'] =>
  (sql, parameters: unknown[] = [], options) =>
    pglite.query(sql, parameters.map(replaced), options);

const replaced = (value: unknown): unknown => (typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value);
