import type { DatabaseSync } from 'node:sqlite';
import type { SqliteDatabase, SqliteStatement } from 'kysely';
import { STORE_STATEMENTS_MAX } from '../../core/limits.ts';

/**
 * `node:sqlite` in the shape that Kysely's SQLite dialect expects, with a cache of prepared statements: preparing costs
 * several times what a lookup by key does.
 */
export function sqliteAdapter(database: DatabaseSync, statementsMax = STORE_STATEMENTS_MAX): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>();

  const cached = (sql: string): SqliteStatement => {
    const known = statements.get(sql);
    statements.delete(sql); // and back in at the end: the first entry is the one unused for longest
    const statement = known ?? prepare(database, sql);
    statements.set(sql, statement);
    if (statements.size > statementsMax) {
      const [oldest] = statements.keys();
      if (oldest !== undefined) statements.delete(oldest);
    }
    return statement;
  };

  return {
    prepare(sql) {
      // A transaction that begins as a reader and writes later can fail at once with "database is locked", whatever the
      // busy timeout, when another process wrote in between.
      if (sql === 'begin') return cached('begin immediate');
      // A full disk ends the transaction by itself; a rollback after it would hide the reason behind its own failure.
      if (sql === 'rollback' && !database.isTransaction) return NOTHING;
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
    all: (parameters) => statement.all(...parameters.map(asValue)),
    run: (parameters) => statement.run(...parameters.map(asValue)),
    iterate: (parameters) => statement.iterate(...parameters.map(asValue)),
  };
}

const NOTHING: SqliteStatement = {
  reader: false,
  all: () => [],
  run: () => ({ changes: 0, lastInsertRowid: 0 }),
  iterate: () => [].values(),
};

function asValue(parameter: unknown): null | number | bigint | string | Uint8Array {
  switch (typeof parameter) {
    case 'string':
    case 'number':
    case 'bigint':
      return parameter;
    default:
      if (parameter === null || parameter instanceof Uint8Array) return parameter;
      throw new TypeError(`SQLite takes no ${typeof parameter} as a parameter`);
  }
}
