import type { KeysTable } from './keys.ts';
import type { MigrationsTable } from './migrations.ts';

export interface Database {
  keys: KeysTable;
  migrations: MigrationsTable;
}
