import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { QueryResult } from 'kysely';
import { STORE_STATEMENTS_MAX } from '../limits.ts';

interface CachedStatement {
  readonly statement: StatementSync;
  readonly returnsRows: boolean;
}

/**
 * A connection of `node:sqlite` with an LRU cache of prepared statements: preparing a statement costs several times as
 * much as a lookup by key.
 */
export class SqliteConnection {
  readonly #database: DatabaseSync;
  readonly #statementsMax: number;
  readonly #statements = new Map<string, CachedStatement>();

  constructor(database: DatabaseSync, statementsMax = STORE_STATEMENTS_MAX) {
    this.#database = database;
    this.#statementsMax = statementsMax;
  }

  get isTransaction(): boolean {
    return this.#database.isTransaction;
  }

  /** Runs one statement and returns its rows, or the number of rows that it changed. @throws errors of SQLite. */
  execute<Row>(sql: string, parameters: readonly unknown[]): QueryResult<Row> {
    const { statement, returnsRows } = this.#prepare(sql);
    const values = parameters.map(toSqliteValue);
    if (returnsRows) return { rows: statement.all(...values) as Row[] };
    const { changes, lastInsertRowid } = statement.run(...values);
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  #prepare(sql: string): CachedStatement {
    const existing = this.#statements.get(sql);
    this.#statements.delete(sql); // Re-inserted at the end: the first entry is the least recently used.
    const statement = existing ?? prepare(this.#database, sql);
    this.#statements.set(sql, statement);
    if (this.#statements.size > this.#statementsMax) {
      const [oldest] = this.#statements.keys();
      if (oldest !== undefined) this.#statements.delete(oldest);
    }
    return statement;
  }
}

function prepare(database: DatabaseSync, sql: string): CachedStatement {
  const statement = database.prepare(sql);
  return { statement, returnsRows: statement.columns().length > 0 };
}

function toSqliteValue(parameter: unknown): null | number | bigint | string | Uint8Array {
  switch (typeof parameter) {
    case 'string':
    case 'number':
    case 'bigint':
      return parameter;
    default:
      if (parameter === null || parameter instanceof Uint8Array) return parameter;
      throw new TypeError(`SQLite does not support parameters of type ${typeof parameter}`);
  }
}
