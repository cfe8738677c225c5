import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import type { StoreDialect } from '../../../src/store/dialects/dialect.ts';
import { pgliteDialect } from '../../../src/store/dialects/pglite.ts';
import { sqliteDialect } from '../../../src/store/dialects/sqlite.ts';

/** One promise for every database: what passes here on one passes on all. */
export const DIALECTS: readonly { name: string; dialect: (folder: string) => StoreDialect }[] = [
  { name: 'sqlite in memory', dialect: () => sqliteDialect({ file: ':memory:' }) },
  { name: 'sqlite in a file', dialect: (folder) => sqliteDialect({ file: join(folder, 'parley.db') }) },
  { name: 'pglite', dialect: () => pgliteDialect(new PGlite()) },
];
