import { setTimeout as pauseFor } from 'node:timers/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { JOB_KINDS, JOB_STATES, type JobKind, type JobRecord, type JobState } from '../core/job.ts';
import { JOB_RETENTION_MS } from '../core/limits.ts';
import { JOB_LIST_DEFAULT, JOB_LIST_MAX } from './limits.ts';
import type { JobQueueHandle } from '../service/open-components.ts';
import { formatJsonLine } from './format-json-line.ts';
import { encodeJob, JOB_COLUMNS, createJobDetails, createJobRow } from './describe-job.ts';
import { formatTable } from './format-table.ts';
import { runUntilInterrupted } from './run-until-interrupted.ts';
import { createLineDiff, createTerminalRedraw, tryWrite, type TerminalStream } from './terminal-stream.ts';
import { withResource } from './with-resource.ts';

export interface JobsCommandDeps {
  /**
   * Opens the jobs in the configured database. A server may be using the same database.
   * @param flags Options of the command and its parent commands, by name.
   */
  readonly open: (flags: Readonly<Record<string, unknown>>) => Promise<JobQueueHandle>;
  readonly stdout: TerminalStream;
  /** Pauses between two polls of `--watch`. Settles soon after the signal aborts. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** Replaces Ctrl-C in tests. */
  readonly runUntilStopped?: typeof runUntilInterrupted;
}

/** Polling interval of `--watch` in ms; Parley's choice. */
const WATCH_INTERVAL_MS = 1_000;

const ID_DESCRIPTION = 'id of the job, or of its batch, file or response';

/** Creates `parley jobs`, which shows and cancels background jobs. With `--json` it prints one value per line only. */
export function createJobsCommand(deps: JobsCommandDeps): Command {
  return new Command('jobs')
    .description('show and cancel background jobs: batches, their callbacks, text extraction, responses')
    .addCommand(createListCommand(deps))
    .addCommand(createShowCommand(deps))
    .addCommand(createCancelCommand(deps));
}

interface ShowOptions {
  readonly json?: true;
  readonly watch?: true;
}

interface ListOptions extends ShowOptions {
  readonly kind?: JobKind;
  readonly state?: JobState;
  readonly limit: number;
}

function createListCommand(deps: JobsCommandDeps): Command {
  return new Command('list')
    .description(`list jobs, newest first; ended jobs are listed for ${JOB_RETENTION_MS / 86_400_000} days`)
    .addOption(new Option('--kind <kind>', 'list jobs of this kind only').choices(JOB_KINDS))
    .addOption(new Option('--state <state>', 'list jobs in this state only').choices(JOB_STATES))
    .option('--limit <count>', `maximum number of jobs, up to ${JOB_LIST_MAX}`, parseLimit, JOB_LIST_DEFAULT)
    .option('--json', 'print one JSON array; with --watch, one object per line for each change')
    .option('--watch', 'update the list until Ctrl-C')
    .action(async ({ json, watch, ...page }: ListOptions, command: Command) => {
      await withResource(deps, command, async ({ jobs }) => {
        const read = () => jobs.list(page);
        const describe = (records: readonly JobRecord[]) => formatTable([JOB_COLUMNS, ...records.map(createJobRow)]);
        if (watch) return await watchJobs(deps, { read, describe, json, isFinished: () => false });
        const records = await read();
        deps.stdout.write(json ? formatJsonLine(records.map(encodeJob)) : describe(records));
      });
    });
}

function createShowCommand(deps: JobsCommandDeps): Command {
  return new Command('show')
    .description('show one job')
    .argument('<id>', ID_DESCRIPTION)
    .option('--json', 'print one JSON object; with --watch, one per line for each change')
    .option('--watch', 'update the output until the job ends')
    .action(async (id: string, { json, watch }: ShowOptions, command: Command) => {
      await withResource(deps, command, async ({ jobs }) => {
        const describe = (records: readonly JobRecord[]) => formatTable(records.flatMap(createJobDetails));
        if (watch) {
          const isFinished = (records: readonly JobRecord[]) => records.every(({ endedAt }) => endedAt !== undefined);
          return await watchJobs(deps, {
            read: async () => [await jobs.find(id)],
            describe,
            json,
            isFinished,
          });
        }
        const record = await jobs.find(id);
        deps.stdout.write(json ? formatJsonLine(encodeJob(record)) : describe([record]));
      });
    });
}

function createCancelCommand(deps: JobsCommandDeps): Command {
  return new Command('cancel')
    .description('cancel a job; a running server stops it within a few seconds')
    .argument('<id>', ID_DESCRIPTION)
    .option('--json', 'print one JSON object')
    .action(async (id: string, { json }: { readonly json?: true }, command: Command) => {
      await withResource(deps, command, async ({ jobs }) => {
        const record = await jobs.cancel(id);
        deps.stdout.write(json ? formatJsonLine(encodeJob(record)) : `${formatCancellation(record)}\n`);
      });
    });
}

const formatCancellation = ({ id, state, endedAt }: JobRecord): string =>
  endedAt === undefined ? `${id} is being cancelled` : `${id} has already ended: ${state}`;

interface WatchOptions {
  readonly read: () => Promise<readonly JobRecord[]>;
  /** Formats the records for a terminal. The text replaces the previous one. */
  readonly describe: (records: readonly JobRecord[]) => string;
  readonly json: true | undefined;
  readonly isFinished: (records: readonly JobRecord[]) => boolean;
}

/** Redraws the table on a terminal. Elsewhere, and with `--json`, prints a line for each job that changed. */
async function watchJobs(
  {
    stdout,
    pause = (ms, signal) => pauseFor(ms, undefined, { signal }),
    runUntilStopped = runUntilInterrupted,
  }: JobsCommandDeps,
  { read, describe, json, isFinished }: WatchOptions,
): Promise<void> {
  const redraw = createTerminalRedraw(stdout);
  const diffLines = createLineDiff();
  const formatLine = (job: JobRecord): string =>
    json ? formatJsonLine(encodeJob(job)) : `${createJobRow(job).join('  ')}\n`;
  await runUntilStopped('Stopped watching.', async (signal) => {
    while (!signal.aborted) {
      const records = await read();
      const formatChanges = () => diffLines(new Map(records.map((job) => [job.id, formatLine(job)]))).join('');
      const text = stdout.isTTY && !json ? redraw(describe(records)) : formatChanges();
      if (text !== '' && !(await tryWrite(stdout, text))) return;
      if (isFinished(records)) return;
      // The pause rejects when the signal aborts; the loop condition then ends the watch.
      await pause(WATCH_INTERVAL_MS, signal).catch(() => undefined);
    }
  });
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= JOB_LIST_MAX) return limit;
  throw new InvalidArgumentError(`must be a whole number from 1 to ${JOB_LIST_MAX}`);
}
