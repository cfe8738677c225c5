import type { Dialect, Transaction } from 'kysely';
import type { Database } from '../schema/database.ts';
import type { FullText } from './full-text.ts';

/**
 * Everything in which one database differs from another. The SQL of the nouns is the same for all. Where a text with NUL in
 * it cannot be asked for, the dialect sees to it that it finds nothing.
 */
export interface StoreDialect {
  /** For messages: which database this is, without credentials. */
  readonly name: string;
  /** Opens the connection; Kysely's own dialect around it. */
  open(): Promise<Dialect>;
  /** Called first in the migrating transaction: returns when no other process is migrating, until the transaction ends. */
  lockForMigration(transaction: Transaction<Database>): Promise<void>;
  /** Type of a column of bytes. */
  readonly bytesType: 'blob' | 'bytea';
  readonly fullText: FullText;
}
