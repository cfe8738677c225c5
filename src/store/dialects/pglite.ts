import type { PGlite } from 'kysely';
import { PGliteDialect } from 'kysely';
import type { StoreDialect } from './dialect.ts';
import { postgresFullText } from './postgres-full-text.ts';

/**
 * Postgres inside the process, for the contract tests of the store: they prove that the SQL does not depend on SQLite.
 * The instance is an argument because the package is a development dependency.
 */
export function createPgliteDialect(pglite: PGlite): StoreDialect {
  return {
    name: 'PGlite',
    open: () => Promise.resolve(new PGliteDialect({ pglite: wrapReplacingNul(pglite) })),
    // One process, one connection: no other process can be migrating.
    lockForMigration: () => Promise.resolve(),
    bytesType: 'bytea',
    fullText: postgresFullText,
  };
}

/**
 * Replaces NUL in text parameters by U+FFFD, because Postgres rejects NUL in text. No ID contains U+FFFD, so an ID with
 * NUL finds nothing. Client texts are stored as JSON, which escapes NUL.
 */
const wrapReplacingNul = (pglite: PGlite): PGlite => ({
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
  query: createQuery(pglite),
  transaction: (work) =>
    pglite.transaction((inside) => work({ query: createQuery(inside), rollback: () => inside.rollback() })),
});

const createQuery =
  (pglite: Pick<PGlite, 'query'>): PGlite['query'] =>
  (sql, parameters: unknown[] = [], options) =>
    pglite.query(sql, parameters.map(replaceNul), options);

const replaceNul = (value: unknown): unknown => (typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value);
