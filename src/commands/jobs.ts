import { setTimeout as pauseFor } from 'node:timers/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { JOB_KINDS, JOB_STATES, type JobKind, type JobRecord, type JobState } from '../core/job.ts';
import { JOB_KEPT_MS, JOB_LIST_DEFAULT, JOB_LIST_MAX } from '../core/limits.ts';
import type { JobQueue } from '../jobs/queue.ts';
import { asJson } from './as-json.ts';
import { encodeJob, JOB_HEAD, jobFacts, jobRow } from './describe-job.ts';
import { table } from './table.ts';
import { untilInterrupted } from './until-interrupted.ts';
import { createChanges, createRedraw, isTaken, type WatchStream } from './watch.ts';
import { withOpened } from './with-opened.ts';

export interface OpenJobs {
  readonly jobs: JobQueue;
  close(): Promise<void>;
}

export interface JobsCommandNeeds {
  /**
   * Opens the jobs of the effective configuration; a server may be running on the same database.
   * @param flags Options of the command and of those above it, by name.
   */
  readonly open: (flags: Readonly<Record<string, unknown>>) => Promise<OpenJobs>;
  readonly stdout: WatchStream;
  /** Between two looks of a watch; resolves or rejects soon when the signal aborts. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** What ends a watch, if not Ctrl-C. */
  readonly untilStopped?: typeof untilInterrupted;
}

/** Ours, in ms: between two looks of a watch. */
const WATCH_MS = 1_000;

const ID = 'of the job, or of the batch, file or response that it works for';

/** `parley jobs`: what goes on in the background. Scripts read `--json`: a value a line and nothing else. */
export function jobsCommand(needs: JobsCommandNeeds): Command {
  return new Command('jobs')
    .description('see and cancel work that goes on in the background: batches, their callbacks, extraction, responses')
    .addCommand(listCommand(needs))
    .addCommand(showCommand(needs))
    .addCommand(cancelCommand(needs));
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

function listCommand(needs: JobsCommandNeeds): Command {
  return new Command('list')
    .description(`list jobs, the newest first; those that ended stay for ${JOB_KEPT_MS / 86_400_000} days`)
    .addOption(new Option('--kind <kind>', 'of this kind only').choices(JOB_KINDS))
    .addOption(new Option('--state <state>', 'in this state only').choices(JOB_STATES))
    .option('--limit <count>', `at most so many, up to ${JOB_LIST_MAX}`, parseLimit, JOB_LIST_DEFAULT)
    .option('--json', 'one JSON list; with --watch, one object a line for each change')
    .option('--watch', 'go on showing them until Ctrl-C')
    .action(async ({ json, watch, ...page }: ListOptions, command: Command) => {
      await withOpened(needs, command, async ({ jobs }) => {
        const read = () => jobs.list(page);
        const describe = (records: readonly JobRecord[]) => table([JOB_HEAD, ...records.map(jobRow)]);
        if (watch) return await watchJobs(needs, { read, describe, json, isOver: () => false });
        const records = await read();
        needs.stdout.write(json ? asJson(records.map(encodeJob)) : describe(records));
      });
    });
}

function showCommand(needs: JobsCommandNeeds): Command {
  return new Command('show')
    .description('show one job')
    .argument('<id>', ID)
    .option('--json', 'one JSON object; with --watch, one a line for each change')
    .option('--watch', 'go on showing it until it ends')
    .action(async (id: string, { json, watch }: ShowOptions, command: Command) => {
      await withOpened(needs, command, async ({ jobs }) => {
        const describe = (records: readonly JobRecord[]) => table(records.flatMap(jobFacts));
        if (watch) {
          const isOver = (records: readonly JobRecord[]) => records.every(({ endedAt }) => endedAt !== undefined);
          return await watchJobs(needs, { read: async () => [await jobs.find(id)], describe, json, isOver });
        }
        const record = await jobs.find(id);
        needs.stdout.write(json ? asJson(encodeJob(record)) : describe([record]));
      });
    });
}

function cancelCommand(needs: JobsCommandNeeds): Command {
  return new Command('cancel')
    .description('end a job; a running server follows within a few seconds')
    .argument('<id>', ID)
    .option('--json', 'one JSON object')
    .action(async (id: string, { json }: { readonly json?: true }, command: Command) => {
      await withOpened(needs, command, async ({ jobs }) => {
        const record = await jobs.cancel(id);
        needs.stdout.write(json ? asJson(encodeJob(record)) : `${describeCancelled(record)}\n`);
      });
    });
}

const describeCancelled = ({ id, state, endedAt }: JobRecord): string =>
  endedAt === undefined ? `${id} is being cancelled` : `${id} has ended: ${state}`;

interface Watch {
  readonly read: () => Promise<readonly JobRecord[]>;
  /** For a terminal: takes the place of what was there before. */
  readonly describe: (records: readonly JobRecord[]) => string;
  readonly json: true | undefined;
  readonly isOver: (records: readonly JobRecord[]) => boolean;
}

/** A picture that is drawn anew on a terminal; elsewhere, and as JSON, a line for each job that changed. */
async function watchJobs(
  {
    stdout,
    pause = (ms, signal) => pauseFor(ms, undefined, { signal }),
    untilStopped = untilInterrupted,
  }: JobsCommandNeeds,
  { read, describe, json, isOver }: Watch,
): Promise<void> {
  const redraw = createRedraw(stdout);
  const changes = createChanges();
  const lineOf = (job: JobRecord): string => (json ? asJson(encodeJob(job)) : `${jobRow(job).join('  ')}\n`);
  await untilStopped('The watch has ended.', async (signal) => {
    while (!signal.aborted) {
      const records = await read();
      const changed = () => changes(new Map(records.map((job) => [job.id, lineOf(job)]))).join('');
      const text = stdout.isTTY && !json ? redraw(describe(records)) : changed();
      if (text !== '' && !(await isTaken(stdout, text))) return;
      if (isOver(records)) return;
      // It rejects when the signal aborts, which is how a watch ends.
      await pause(WATCH_MS, signal).catch(() => undefined);
    }
  });
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= JOB_LIST_MAX) return limit;
  throw new InvalidArgumentError(`must be a whole number from 1 to ${JOB_LIST_MAX}`);
}
