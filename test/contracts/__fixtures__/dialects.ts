import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import type { StoreDialect } from '../../../src/store/dialects/dialect.ts';
import { createPgliteDialect } from '../../../src/store/dialects/pglite.ts';
import { createSqliteDialect } from '../../../src/store/dialects/sqlite.ts';

/** All database dialects. Each contract runs on every dialect. */
export const DIALECTS: readonly { name: string; dialect: (folder: string) => StoreDialect }[] = [
  { name: 'sqlite in memory', dialect: () => createSqliteDialect({ file: ':memory:' }) },
  { name: 'sqlite in a file', dialect: (folder) => createSqliteDialect({ file: join(folder, 'parley.db') }) },
  { name: 'pglite', dialect: () => createTestPgliteDialect() },
];

let sharedPglite: PGlite | undefined;

/**
 * Returns a dialect whose `open` empties the one PGlite of this process and runs `initialSql` there: creating a PGlite
 * takes seconds of processor time. At most one store at a time may be open.
 */
export function createTestPgliteDialect({ initialSql = '' }: { readonly initialSql?: string } = {}): StoreDialect {
  const pglite = (sharedPglite ??= new PGlite());
  const dialect = createPgliteDialect({
    query: (sql, parameters) => pglite.query(sql, parameters),
    // Stays open for the next store of this process.
    close: () => Promise.resolve(),
  });
  return {
    ...dialect,
    async open() {
      await pglite.exec(`drop schema public cascade; create schema public; ${initialSql}`);
      return dialect.open();
    },
  };
}
