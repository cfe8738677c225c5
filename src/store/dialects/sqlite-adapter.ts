import type { DatabaseSync } from 'node:sqlite';
import type { SqliteDatabase, SqliteStatement } from 'kysely';
import { STORE_STATEMENTS_MAX } from '../limits.ts';

/**
 * Adapts `node:sqlite` to the interface that Kysely's SQLite dialect expects, with an LRU cache of prepared statements:
 * preparing a statement costs several times as much as a lookup by key.
 */
export function createSqliteAdapter(database: DatabaseSync, statementsMax = STORE_STATEMENTS_MAX): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>();

  const cached = (sql: string): SqliteStatement => {
    const existing = statements.get(sql);
    statements.delete(sql); // Re-inserted at the end: the first entry is the least recently used.
    const statement = existing ?? prepare(database, sql);
    statements.set(sql, statement);
    if (statements.size > statementsMax) {
      const [oldest] = statements.keys();
      if (oldest !== undefined) statements.delete(oldest);
    }
    return statement;
  };

  return {
    prepare(sql) {
      // A transaction that starts as a reader and writes later can fail immediately with "database is locked",
      // regardless of the busy timeout, if another process wrote in between.
      if (sql === 'begin') return cached('begin immediate');
      // SQLite rolls back by itself when the disk is full. Another rollback would fail and hide the original error.
      if (sql === 'rollback' && !database.isTransaction) return NO_OP_STATEMENT;
      return cached(sql);
    },
    close() {
      statements.clear();
      database.close();
    },
  };
}

function prepare(database: DatabaseSync, sql: string): SqliteStatement {
  const statement = database.prepare(sql);
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...parameters.map(toSqliteValue)),
    run: (parameters) => statement.run(...parameters.map(toSqliteValue)),
    iterate: (parameters) => statement.iterate(...parameters.map(toSqliteValue)),
  };
}

const NO_OP_STATEMENT: SqliteStatement = {
  reader: false,
  all: () => [],
  run: () => ({ changes: 0, lastInsertRowid: 0 }),
  iterate: () => [].values(),
};

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
