import { ServiceError } from '../core/error.ts';
import type { Log } from '../core/telemetry.ts';
import type { Clock } from '../lib/clock.ts';
import type { DatabaseDamage } from '../store/database-damage.ts';

/** Pause between two log lines about damage, in ms: every query may find it. */
const LOG_PAUSE_MS = 10_000;

/** Time for which a disk error counts, in ms. */
const DISK_ERROR_MS = 60_000;

/** Pause between two reports of disk errors to other processes, in ms: every query may find one. */
const SHARE_PAUSE_MS = 1_000;

/** Damage that one process of the service reports to the others. */
export interface DatabaseDamageReport {
  readonly type: DatabaseDamage['type'];
  /** SQLite's description. */
  readonly message: string;
}

/** Problems of the database that were found while the service runs. */
export interface DatabaseHealth {
  /** Returns why the service is not ready; undefined while nothing is known. */
  getProblem(): string | undefined;
  /** @throws ServiceError `overloaded` after `refuse`. */
  throwIfRefused(): void;
  /** Records damage that a query found. The query fails; others may succeed. */
  report(damage: DatabaseDamage): void;
  /** Records damage that another process of the service found, logged and counted. */
  recordReport(report: DatabaseDamageReport): void;
  /** Returns the first damage of the content that was found, here or by another process. It stays until a repair. */
  getCorruption(): DatabaseDamageReport | undefined;
  /** Calls the listener with damage that this process found and that the others do not know yet. */
  onReport(listener: (report: DatabaseDamageReport) => void): void;
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
  const reportListeners: ((report: DatabaseDamageReport) => void)[] = [];
  let refusal: string | undefined;
  let corruption: DatabaseDamageReport | undefined;
  let diskError: { readonly message: string; readonly at: number } | undefined;
  let loggedAt = -Infinity;
  let sharedAt = -Infinity;
  const notifyDamage = (): void => {
    for (const listener of damageListeners) listener();
  };
  const recordReport = (report: DatabaseDamageReport): void => {
    if (report.type === 'corrupt') corruption ??= report;
    else diskError = { message: report.message, at: clock.monotonic() };
  };
  const shareReport = (report: DatabaseDamageReport): void => {
    const isKnown =
      report.type === 'corrupt' ? corruption !== undefined : clock.monotonic() - sharedAt < SHARE_PAUSE_MS;
    if (isKnown) return;
    if (report.type === 'disk-error') sharedAt = clock.monotonic();
    for (const listener of reportListeners) listener(report);
  };
  return {
    getProblem() {
      if (refusal !== undefined) return refusal;
      if (corruption) return `the database ${file} is damaged: ${corruption.message}; run \`parley check\``;
      if (!diskError || clock.monotonic() - diskError.at >= DISK_ERROR_MS) return undefined;
      return `the database ${file} cannot be read or written: ${diskError.message}`;
    },
    throwIfRefused() {
      if (refusal !== undefined)
        throw new ServiceError('overloaded', 'The database of the service is damaged. The operator must repair it.');
    },
    report({ type, error }) {
      const now = clock.monotonic();
      const report = { type, message: error.message };
      shareReport(report);
      recordReport(report);
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
    recordReport,
    getCorruption: () => corruption,
    onReport: (listener) => void reportListeners.push(listener),
    getRefusal: () => refusal,
    onDamage: (listener) => void damageListeners.push(listener),
    onRefusal: (listener) => void refusalListeners.push(listener),
  };
}
