import type { PGlite } from 'kysely';
import { PGliteDialect } from 'kysely';
import type { StoreDialect } from './dialect.ts';

/**
 * Postgres inside the process. It runs the store's contract, so that nothing is shaped by SQLite alone; the instance is
 * an argument, because the package is there for development only.
 */
export function pgliteDialect(pglite: PGlite): StoreDialect {
  return {
    name: 'PGlite',
    open: () => Promise.resolve(new PGliteDialect({ pglite })),
    // One process, one connection: nobody else can be migrating.
    lockForMigration: () => Promise.resolve(),
  };
}
