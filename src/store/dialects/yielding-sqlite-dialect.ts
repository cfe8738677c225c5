import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type Driver, SqliteDialect, type SqliteDatabase, SqliteDriver } from 'kysely';

/**
 * Kysely's SQLite dialect, which yields to the event loop after each write before the next one may start. A write
 * blocks the process until it is on the disk. Without the pause, waiting writes would follow each other as one task, and
 * no connection would be accepted, and nothing else be done, until all of them are through.
 */
export class YieldingSqliteDialect extends SqliteDialect {
  readonly #database: SqliteDatabase;

  constructor(database: SqliteDatabase) {
    super({ database });
    this.#database = database;
  }

  override createDriver(): Driver {
    return new YieldingSqliteDriver(this.#database);
  }
}

class YieldingSqliteDriver extends SqliteDriver {
  #hasWritten = false;

  constructor(database: SqliteDatabase) {
    super({
      database: {
        close: () => database.close(),
        prepare: (sql) => {
          this.#hasWritten ||= !/^(?:select|with)\b/i.test(sql);
          return database.prepare(sql);
        },
      },
    });
  }

  override async releaseConnection(): Promise<void> {
    if (this.#hasWritten) {
      this.#hasWritten = false;
      await yieldToEventLoop();
    }
    await super.releaseConnection();
  }
}
