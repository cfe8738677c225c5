import { existsSync } from 'node:fs';
import { Command } from 'commander';
import type { UnverifiedBlobStore } from '../blobs/blob-store.ts';
import { describeCause, ServiceError } from '../core/error.ts';
import type { Weights } from '../core/weights.ts';
import type { Clock } from '../lib/clock.ts';
import { checkDatabase } from '../store/checks/check-database.ts';
import { findDatabaseDamage } from '../store/database-damage.ts';
import { openCheckReader } from '../store/checks/open-check-reader.ts';
import type { WeightsStore } from '../weights/weights-store.ts';
import { checkBlobs, type CheckedBlobs } from './check-blobs.ts';
import type { CheckProblem, CheckReport } from './check-problem.ts';
import { createCheckProgress, type CheckProgress } from './check-progress.ts';
import { checkWeights, countWeightsBytes } from './check-weights.ts';
import { formatJsonLine } from './format-json-line.ts';
import type { TerminalStream } from './terminal-stream.ts';

/** SQLite result code of an error in a statement. */
const SQLITE_ERROR = 1;

/** The data that a check reads. */
export interface CheckedData {
  /** Path of the database. */
  readonly databaseFile: string;
  readonly modelsFolder: string;
  readonly weights: readonly Weights[];
  readonly weightsStore: Pick<WeightsStore, 'list'>;
  openBlobs(): Promise<UnverifiedBlobStore>;
}

export interface CheckCommandDeps {
  /** @param flags Options of the command and its parent commands, by name. */
  readonly open: (flags: Readonly<Record<string, unknown>>) => Promise<CheckedData>;
  readonly clock: Clock;
  readonly stdout: TerminalStream;
  readonly stderr: TerminalStream;
  /** Called with 1 when problems were found. */
  readonly setExitCode: (code: number) => void;
}

interface CheckOptions {
  readonly full?: true;
  readonly json?: true;
  readonly weights: boolean;
}

/** Creates `parley check`. It changes nothing, and a service may run meanwhile. */
export function createCheckCommand(deps: CheckCommandDeps): Command {
  return new Command('check')
    .description(
      'check database, stored files and weights for damage; exit code 0: none, 1: problems, 2: could not run',
    )
    .option('--full', 'also compare the indexes of the database with its tables (slow)')
    .option('--no-weights', 'do not read the weights')
    .option('--json', 'print one JSON object')
    .action(async (options: CheckOptions, command: Command) => {
      const { stdout, stderr, clock, setExitCode } = deps;
      const startedAt = clock.monotonic();
      const progress = createCheckProgress(stderr, clock);
      const report: CheckReport = { problems: [], notes: [] };
      try {
        const data = await deps.open(command.optsWithGlobals());
        const result = await runCheck(data, options, { report, progress, now: clock.now() });
        progress.finish();
        const durationMs = Math.round(clock.monotonic() - startedAt);
        stdout.write(options.json ? formatJsonLine(encodeResult(result, durationMs)) : formatResult(result));
        if (result.problems.length > 0) setExitCode(1);
      } catch (error) {
        progress.finish();
        throw createNotRunError(error, report.problems);
      }
    });
}

interface CheckResult extends CheckReport, CheckedBlobs {
  readonly weightsFiles: number;
}

async function runCheck(
  { databaseFile, modelsFolder, weights, weightsStore, openBlobs }: CheckedData,
  { full, weights: hasWeights }: CheckOptions,
  { report, progress, now }: { readonly report: CheckReport; readonly progress: CheckProgress; readonly now: number },
): Promise<CheckResult> {
  if (!existsSync(databaseFile)) throw new Error(`there is no database ${databaseFile}`);
  progress.start('database', 0);
  const { problems, failure } = await checkDatabase({
    file: databaseFile,
    parts: ['wal', full ? 'full' : 'quick', 'foreign-keys'],
  });
  report.problems.push(...problems.map(({ file, detail }) => createDatabaseProblem(file, detail)));
  if (failure !== undefined) throw new Error(`${databaseFile}: ${failure}`);

  let checkedBlobs: CheckedBlobs = { blobs: 0, unhashed: 0 };
  const blobs = await openBlobs();
  try {
    checkedBlobs = await checkRows(databaseFile, blobs, report, { progress, now });
  } finally {
    await blobs.close();
  }

  let weightsFiles = 0;
  if (hasWeights) {
    const weightsDeps = { weights, store: weightsStore, modelsFolder, report, onBytes: progress.add };
    progress.start('weights', await countWeightsBytes(weightsDeps));
    weightsFiles = await checkWeights(weightsDeps);
  }
  return { ...report, ...checkedBlobs, weightsFiles };
}

/**
 * Compares rows with blobs and sums. Rows of a damaged database that cannot be read are a problem, too.
 *
 * @throws the error of anything else that cannot be read, such as a locked database or the blobs.
 */
async function checkRows(
  databaseFile: string,
  blobs: UnverifiedBlobStore,
  report: CheckReport,
  { progress, now }: { readonly progress: CheckProgress; readonly now: number },
): Promise<CheckedBlobs> {
  let reader: ReturnType<typeof openCheckReader> | undefined;
  try {
    reader = openCheckReader(databaseFile, now);
    progress.start('files', reader.countBlobs().bytes);
    for (const { subject, stored, counted, correction } of reader.listWrongTotals()) {
      report.problems.push({
        area: 'totals',
        subject,
        problem: `it says ${stored}, but there are ${counted}`,
        action: `Stop the service, and run in the database: ${correction}`,
      });
    }
    return await checkBlobs({ reader, blobs, report, onBytes: progress.add, now });
  } catch (error) {
    if (error instanceof ServiceError || !(error instanceof Error) || !isCausedByDamage(error, report)) throw error;
    report.problems.push(createDatabaseProblem(databaseFile, `rows cannot be read: ${error.message}`));
    return { blobs: 0, unhashed: 0 };
  } finally {
    reader?.close();
  }
}

/** SQLite also reports other errors, such as that of a missing table, once pages are damaged. */
function isCausedByDamage(error: Error, { problems }: CheckReport): boolean {
  if (findDatabaseDamage(error)?.type === 'corrupt') return true;
  return 'errcode' in error && error.errcode === SQLITE_ERROR && problems.some(({ area }) => area === 'database');
}

const createDatabaseProblem = (subject: string, problem: string): CheckProblem => ({
  area: 'database',
  subject,
  problem,
  action: 'Stop the service, keep a copy of the data folder, and restore a backup.',
});

function createNotRunError(error: unknown, problems: readonly CheckProblem[]): ServiceError {
  const found = problems.map(({ subject, problem }) => `\nfound before: ${subject}: ${problem}`).join('');
  return new ServiceError('invalid-request', `The check could not run: ${describeCause(error)}${found}`);
}

const encodeResult = ({ problems, notes, blobs, unhashed, weightsFiles }: CheckResult, durationMs: number) => ({
  ok: problems.length === 0,
  problems,
  notes,
  checked: { blobs, blobs_without_hashes: unhashed, weights_files: weightsFiles },
  duration_ms: durationMs,
});

function formatResult({ problems, notes, blobs, unhashed, weightsFiles }: CheckResult): string {
  const formatEntry = ({ area, subject, problem, action }: CheckProblem): string =>
    `${area}: ${subject}: ${problem}\n  ${action}\n`;
  const old = unhashed > 0 ? ` (${unhashed} of an earlier version without block hashes)` : '';
  return [
    ...problems.map(formatEntry),
    ...notes.map((note) => `note: ${formatEntry(note)}`),
    `checked: the database, ${blobs} stored files${old}, ${weightsFiles} files of weights\n`,
    problems.length === 0 ? 'no problems found\n' : `${problems.length} problems found\n`,
  ].join('');
}
