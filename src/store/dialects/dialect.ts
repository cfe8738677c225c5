import type { Dialect, Transaction } from 'kysely';
import type { Database } from '../schema/database.ts';
import type { DiskReserve } from './disk-reserve.ts';
import type { FullTextIndex } from './full-text.ts';

/**
 * Everything in which one database differs from another; the SQL of the stores is the same for all. A dialect makes
 * sure that a query with a NUL character in a parameter finds nothing instead of failing.
 */
export interface StoreDialect {
  /** Describes the database in messages, without credentials. */
  readonly name: string;
  /** Opens the connection and returns Kysely's dialect for it. */
  open(): Promise<Dialect>;
  /** Called first in the migrating transaction; keeps other processes from migrating until the transaction ends. */
  lockForMigration(transaction: Transaction<Database>): Promise<void>;
  /** Column type for bytes. */
  readonly bytesType: 'blob' | 'bytea';
  readonly fullText: FullTextIndex;
  /** Space that a full disk keeps for removals; undefined where the disk is the database server's. */
  readonly reserve?: DiskReserve;
}
