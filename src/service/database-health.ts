import { ServiceError } from '../core/error.ts';
import type { Log } from '../core/telemetry.ts';
import type { Clock } from '../lib/clock.ts';
import type { DatabaseDamage } from '../store/database-damage.ts';

/** Pause between two log lines about damage, in ms: every query may find it. */
const LOG_PAUSE_MS = 10_000;

/** Time for which a disk error counts, in ms. */
const DISK_ERROR_MS = 60_000;

/** Problems of the database that were found while the service runs. */
export interface DatabaseHealth {
  /** Returns why the service is not ready; undefined while nothing is known. */
  getProblem(): string | undefined;
  /** @throws ServiceError `overloaded` after `refuse`. */
  throwIfRefused(): void;
  /** Records damage that a query found. The query fails; others may succeed. */
  report(damage: DatabaseDamage): void;
  /** Refuses requests from now on, because a check found damage. */
  refuse(problem: string): void;
  /** Returns the problem for which requests are refused. */
  getRefusal(): string | undefined;
  /** Calls the listener for each reported damage and each refusal. */
  onDamage(listener: () => void): void;
  /** Calls the listener with the problem of each refusal. */
  onRefusal(listener: (problem: string) => void): void;
}

export interface DatabaseHealthDeps {
  /** Path of the database. */
  readonly file: string;
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
}

export function createDatabaseHealth({ file, clock, log }: DatabaseHealthDeps): DatabaseHealth {
  const damageListeners: (() => void)[] = [];
  const refusalListeners: ((problem: string) => void)[] = [];
  let refusal: string | undefined;
  let corruption: string | undefined;
  let diskError: { readonly problem: string; readonly at: number } | undefined;
  let loggedAt = -Infinity;
  const notifyDamage = (): void => {
    for (const listener of damageListeners) listener();
  };
  return {
    getProblem() {
      const isRecent = diskError !== undefined && clock.monotonic() - diskError.at < DISK_ERROR_MS;
      return refusal ?? corruption ?? (isRecent ? diskError?.problem : undefined);
    },
    throwIfRefused() {
      if (refusal !== undefined)
        throw new ServiceError('overloaded', 'The database of the service is damaged. The operator must repair it.');
    },
    report({ type, error }) {
      const now = clock.monotonic();
      if (type === 'corrupt') corruption = `the database ${file} is damaged: ${error.message}; run \`parley check\``;
      else diskError = { problem: `the database ${file} cannot be read or written: ${error.message}`, at: now };
      if (now - loggedAt >= LOG_PAUSE_MS) {
        loggedAt = now;
        log.error('database is damaged or its disk fails; run `parley check`', { file, error });
      }
      notifyDamage();
    },
    refuse(problem) {
      refusal = problem;
      log.error('database check failed; requests are refused', { file, problem });
      notifyDamage();
      for (const listener of refusalListeners) listener(problem);
    },
    getRefusal: () => refusal,
    onDamage: (listener) => void damageListeners.push(listener),
    onRefusal: (listener) => void refusalListeners.push(listener),
  };
}
