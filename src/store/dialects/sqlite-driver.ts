import { closeSync, fstatSync } from 'node:fs';
import { setImmediate as yieldToEventLoop, setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseConnection, Driver, QueryResult } from 'kysely';
import { ServiceError } from '../../core/error.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { createSemaphore } from '../../lib/semaphore.ts';
import { STORE_BUSY_MS_MAX } from '../limits.ts';
import type { DiskReserve } from './disk-reserve.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import { isBusyError, isFullError } from './sqlite-errors.ts';

interface Query {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

export interface SqliteDriverOptions {
  /** Connection of everything that writes. */
  readonly writer: SqliteConnection;
  /** Connection of reads outside of transactions, which therefore wait for nobody. Absent: the writer. */
  readonly reader?: SqliteConnection;
  /** Describes the database in messages, e.g. its path. */
  readonly name: string;
  /** Descriptor of the database file, which the driver closes. Through it, the driver notices that the file is removed. */
  readonly descriptor?: number;
  readonly reserve?: DiskReserve;
  readonly clock?: Clock;
  /** Waits before another attempt; the argument is the number of ms. */
  readonly pause?: (ms: number) => Promise<unknown>;
  /** Lets the event loop turn after a write. A test of a database in memory needs no turns. */
  readonly afterWrite?: () => Promise<unknown>;
}

/** Pauses between attempts while the database is locked, in ms; the last one is repeated. As in SQLite's own handler. */
const BUSY_PAUSES_MS = [1, 2, 5, 10, 15, 20, 25] as const;

/** Time without an attempt after which a lock counts as a new one, in ms. */
const BUSY_MEMORY_MS = 1_000;

/** Retry-After of a request that finds the database locked, in seconds. */
const BUSY_RETRY_AFTER_SECONDS = 1;

/**
 * Kysely's driver for SQLite, which never blocks the process on the lock of another one: it asks again after a pause
 * instead of letting SQLite wait. Writes and transactions follow each other; reads use a connection of their own.
 *
 * After each write the event loop turns before the next one: a write blocks the process until it is on the disk, and
 * waiting writes would otherwise follow each other as one task, without a connection being accepted meanwhile.
 */
export class SqliteDriver implements Driver {
  readonly #options: SqliteDriverOptions;
  readonly #clock: Clock;
  readonly #writers = createSemaphore({ permits: 1 });
  /** When a connection began to find the database locked, and when it last did. Reads rarely find it locked. */
  readonly #busy = new Map<SqliteConnection, { readonly since: number; readonly lastAt: number }>();

  constructor(options: SqliteDriverOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  init(): Promise<void> {
    return Promise.resolve();
  }

  acquireConnection(): Promise<Session> {
    return Promise.resolve(new Session(this));
  }

  async beginTransaction(session: DatabaseConnection): Promise<void> {
    await asSession(session).begin();
  }

  async commitTransaction(session: DatabaseConnection): Promise<void> {
    await asSession(session).end('commit');
    this.#requireFile();
  }

  async rollbackTransaction(session: DatabaseConnection): Promise<void> {
    await asSession(session).end('rollback');
  }

  async releaseConnection(session: DatabaseConnection): Promise<void> {
    await asSession(session).release();
  }

  destroy(): Promise<void> {
    const { reader, writer, descriptor } = this.#options;
    reader?.close();
    writer.close();
    if (descriptor !== undefined) closeSync(descriptor);
    return Promise.resolve();
  }

  /** Waits for the turn to write. @returns a function that ends it. */
  acquireWriter(): Promise<() => void> {
    return this.#writers.acquire();
  }

  /** Reads outside of a transaction. */
  async read<Row>(query: Query): Promise<QueryResult<Row>> {
    const { reader } = this.#options;
    if (reader) return await this.#execute(reader, query);
    const release = await this.acquireWriter();
    try {
      return await this.#execute(this.#options.writer, query);
    } finally {
      release();
    }
  }

  /** Runs a statement that commits by itself. */
  async write<Row>(query: Query): Promise<QueryResult<Row>> {
    const { reserve } = this.#options;
    const release = await this.acquireWriter();
    const run = (): Promise<QueryResult<Row>> => this.writeInside(query);
    try {
      const result = /^\s*delete\b/i.test(query.sql) && reserve ? await reserve.use(run) : await run();
      this.#requireFile();
      return result;
    } finally {
      await this.afterWrite();
      release();
    }
  }

  /** Runs a statement of the holder of the turn to write. */
  async writeInside<Row>(query: Query): Promise<QueryResult<Row>> {
    if (/^\s*insert\b/i.test(query.sql)) await this.#options.reserve?.requireSpace();
    return await this.#execute(this.#options.writer, query);
  }

  afterWrite(): Promise<unknown> {
    return (this.#options.afterWrite ?? yieldToEventLoop)();
  }

  get isTransaction(): boolean {
    return this.#options.writer.isTransaction;
  }

  async #execute<Row>(connection: SqliteConnection, { sql, parameters }: Query): Promise<QueryResult<Row>> {
    const { pause = sleep, name } = this.#options;
    for (let attempt = 0; ; attempt += 1) {
      try {
        const result = connection.execute<Row>(sql, parameters);
        this.#busy.delete(connection);
        return result;
      } catch (error) {
        if (isFullError(error) && error instanceof Error) error.message += ` (${name})`;
        if (!isBusyError(error)) throw error;
        const now = this.#clock.monotonic();
        const busy = this.#busy.get(connection);
        // A lock that was found long ago may have ended meanwhile, and this one may be new.
        const since = busy && now - busy.lastAt < BUSY_MEMORY_MS ? busy.since : now;
        this.#busy.set(connection, { since, lastAt: now });
        if (now - since >= STORE_BUSY_MS_MAX) throw createBusyError(name, error);
      }
      await pause(BUSY_PAUSES_MS[attempt] ?? BUSY_PAUSES_MS[BUSY_PAUSES_MS.length - 1] ?? 0);
    }
  }

  /** Makes sure that the file still has a name: SQLite reports success for writes to a removed one, which are lost. */
  #requireFile(): void {
    const { descriptor, name } = this.#options;
    if (descriptor !== undefined && fstatSync(descriptor).nlink === 0) throw createRemovedError(name);
  }
}

/** Connection of Kysely, which is held for a query outside of a transaction, or for one transaction. */
class Session implements DatabaseConnection {
  readonly #driver: SqliteDriver;
  #release: (() => void) | undefined;

  constructor(driver: SqliteDriver) {
    this.#driver = driver;
  }

  executeQuery<Row>(query: Query): Promise<QueryResult<Row>> {
    if (this.#release) return this.#driver.writeInside(query);
    return isRead(query.sql) ? this.#driver.read(query) : this.#driver.write(query);
  }

  /**
   * Starts a transaction as a writer: one that starts as a reader and writes later fails at once, however long it may
   * wait, if another process wrote in between.
   */
  async begin(): Promise<void> {
    const release = await this.#driver.acquireWriter();
    try {
      await this.#driver.writeInside({ sql: 'begin immediate', parameters: [] });
      this.#release = release;
    } catch (error) {
      release();
      throw error;
    }
  }

  async end(sql: 'commit' | 'rollback'): Promise<void> {
    // SQLite rolls back by itself when the disk is full. Another rollback would fail and hide the original error.
    if (sql === 'rollback' && !this.#driver.isTransaction) return;
    await this.#driver.writeInside({ sql, parameters: [] });
  }

  async release(): Promise<void> {
    if (!this.#release) return;
    await this.#driver.afterWrite();
    this.#release();
    this.#release = undefined;
  }

  // eslint-disable-next-line require-yield
  async *streamQuery(): AsyncGenerator<never> {
    throw new Error('The store streams no query.');
  }
}

function asSession(connection: DatabaseConnection): Session {
  if (!(connection instanceof Session)) throw new TypeError('not a connection of this driver');
  return connection;
}

const isRead = (sql: string): boolean => /^\s*(?:select|with)\b/i.test(sql);

const createBusyError = (name: string, cause: unknown): ServiceError =>
  new ServiceError('overloaded', 'The database of the service is locked at the moment. Please try again later.', {
    retryAfterSeconds: BUSY_RETRY_AFTER_SECONDS,
    cause: new Error(`another process has kept the lock of ${name} for ${STORE_BUSY_MS_MAX / 1000} s`, { cause }),
  });

const createRemovedError = (name: string): ServiceError =>
  new ServiceError('overloaded', 'The database of the service was removed. Nothing can be stored until it is back.', {
    cause: new Error(`${name} was removed while it was open: restore the data folder and start the service again`),
  });
