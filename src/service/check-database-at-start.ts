import { constants, copyFile, stat } from 'node:fs/promises';
import { ServiceError } from '../core/error.ts';
import type { Log } from '../core/telemetry.ts';
import { getErrorCode } from '../lib/error-code.ts';
import { checkDatabase, type DatabaseCheck, type DatabaseProblem } from '../store/checks/check-database.ts';
import type { DatabaseHealth } from './database-health.ts';
import { DATABASE_START_CHECK_BYTES_MAX } from './limits.ts';

interface StartCheckDeps {
  /** Path of the database. */
  readonly file: string;
  readonly health: Pick<DatabaseHealth, 'refuse'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Size up to which the start waits for the whole check. */
  readonly bytesMax?: number;
}

/**
 * Checks the database before anything opens it. The pages of a large one are checked while the service runs; damage
 * then refuses requests. A check that cannot run, because of a lock or missing rights, is logged: opening the database
 * reports what it means for the service.
 *
 * @throws ServiceError `internal` that says what is damaged and what to do. A damaged log is copied before: SQLite
 * truncates it when the database is opened.
 */
export async function checkDatabaseAtStart({
  file,
  health,
  log,
  bytesMax = DATABASE_START_CHECK_BYTES_MAX,
}: StartCheckDeps): Promise<void> {
  const bytes = await readSizes(file, log);
  if (bytes === 0) return;
  const isLarge = bytes > bytesMax;
  const problems = await findProblems({ file, parts: isLarge ? ['wal'] : ['wal', 'quick'] }, log);
  if (problems === undefined) return;
  if (problems.length > 0) {
    const copy = problems.some(({ part }) => part === 'wal') ? await copyWal(`${file}-wal`, log) : undefined;
    throw new ServiceError('internal', formatRefusal(file, problems, copy));
  }
  if (isLarge) void checkPagesLater(file, health, log);
}

/** Returns undefined, and logs why, if the check could not run and found nothing before. */
async function findProblems(
  check: DatabaseCheck,
  log: StartCheckDeps['log'],
): Promise<readonly DatabaseProblem[] | undefined> {
  const { problems, failure } = await checkDatabase(check).catch((error: unknown) => ({
    problems: [],
    failure: String(error),
  }));
  if (failure === undefined) return problems;
  log.warn('database check could not run', { file: check.file, error: failure });
  return problems.length > 0 ? problems : undefined;
}

async function checkPagesLater(file: string, health: StartCheckDeps['health'], log: StartCheckDeps['log']) {
  const startedAt = performance.now();
  const problems = await findProblems({ file, parts: ['quick'] }, log);
  if (problems === undefined) return;
  if (problems.length > 0) return health.refuse(formatRefusal(file, problems, undefined));
  log.info('database check passed', { file, durationMs: Math.round(performance.now() - startedAt) });
}

function formatRefusal(file: string, problems: readonly DatabaseProblem[], copy: string | undefined): string {
  const [first] = problems;
  const others = problems.length > 1 ? ` (and ${problems.length - 1} more problems)` : '';
  return [
    `The database ${file} is damaged: ${first?.detail}${others}.`,
    ...(copy === undefined ? [] : [`A copy of the log is ${copy}.`]),
    'Restore a backup; `parley check` lists everything that is damaged.',
    'To start anyway and lose what cannot be read, set store.startCheck to false (PARLEY_STORE_START_CHECK=false).',
  ].join(' ');
}

/** Copies the log once per content: a supervisor may repeat the start many times. */
async function copyWal(wal: string, log: StartCheckDeps['log']): Promise<string | undefined> {
  try {
    const { mtimeMs } = await stat(wal);
    const copy = `${wal}.damaged-${Math.trunc(mtimeMs)}`;
    await copyFile(wal, copy, constants.COPYFILE_EXCL).catch((error: unknown) => {
      if (getErrorCode(error) !== 'EEXIST') throw error;
    });
    return copy;
  } catch (error) {
    log.warn('the damaged log cannot be copied', { file: wal, error: String(error) });
    return undefined;
  }
}

/** Returns the bytes of the database with its log; 0 if there is none, or if the rights to read the sizes are missing. */
async function readSizes(file: string, log: StartCheckDeps['log']): Promise<number> {
  try {
    return (await readSize(file)) + (await readSize(`${file}-wal`));
  } catch (error) {
    log.warn('database check could not run', { file, error: String(error) });
    return 0;
  }
}

async function readSize(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT') return 0;
    throw error;
  }
}
