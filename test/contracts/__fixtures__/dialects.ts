import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import type { StoreDialect } from '../../../src/store/dialects/dialect.ts';
import { createPgliteDialect } from '../../../src/store/dialects/pglite.ts';
import { createSqliteDialect } from '../../../src/store/dialects/sqlite.ts';

/** All database dialects. Each contract runs on every dialect. */
export const DIALECTS: readonly { name: string; dialect: (folder: string) => StoreDialect }[] = [
  { name: 'sqlite in memory', dialect: () => createSqliteDialect({ file: ':memory:' }) },
  { name: 'sqlite in a file', dialect: (folder) => createSqliteDialect({ file: join(folder, 'parley.db') }) },
  { name: 'pglite', dialect: () => createPgliteDialect(new PGlite()) },
];
