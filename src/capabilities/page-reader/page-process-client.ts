import { startRestrictedProcess } from '../../lib/restricted-process.ts';
import type { RestrictedProcess } from '../../lib/restricted-process.ts';
import type { PageTaskResult, PageCommand, PageReport, PageTask } from './page-task.ts';

/** Reading exceeded a limit. `exit`: the process ended, which another page may have caused. */
export class PageLimitError extends Error {
  override readonly name = 'PageLimitError';
  readonly limit: 'time' | 'memory' | 'exit';
  /** True if the process had read a page before, whose memory it may still have held. */
  readonly hadEarlierPages: boolean;

  constructor(limit: 'time' | 'memory' | 'exit', { isAfterOthers: hadEarlierPages = false } = {}) {
    super(`reading a page exceeded a limit: ${limit}`);
    this.limit = limit;
    this.hadEarlierPages = hadEarlierPages;
  }
}

/** Runs tasks in the page process, which starts with the first task and ends some time after the last. */
export interface PageProcessClient {
  /** @throws PageLimitError; Error if the page cannot be parsed. */
  runTask(task: PageTask): Promise<PageTaskResult>;
  close(): Promise<void>;
}

export interface PageProcessOptions {
  /** CPU time in ms of one task. The wall-clock limit is WALL_CLOCK_FACTOR times as long. */
  readonly cpuMsMax: number;
  readonly heapMb: number;
  readonly residentBytesMax: number;
  readonly idleMs: number;
}

/** Chosen: wall-clock limit as a multiple of the CPU limit, for a busy machine. */
const WALL_CLOCK_FACTOR = 16;

/** Limit of one report line. */
const REPORT_BYTES_MAX = 8 * 1024 * 1024;

interface PendingTask {
  readonly hadEarlierPages: boolean;
  readonly resolve: (answer: PageTaskResult) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

export function createPageProcessClient({ idleMs, ...limits }: PageProcessOptions): PageProcessClient {
  let current: RestrictedProcess | undefined;
  let pending = new Map<number, PendingTask>();
  let lastId = 0;
  /** Number of pages sent to the current process. */
  let pageCount = 0;
  let idle: NodeJS.Timeout | undefined;
  let isClosed = false;

  /** Kills a process and stops using it: a task sent to an ending process would be lost. */
  const retire = (old: RestrictedProcess | undefined): void => {
    if (current === old) {
      current = undefined;
      pending = new Map();
    }
    old?.kill();
  };

  const settle = (id: number, finish: (task: PendingTask) => void): void => {
    const task = pending.get(id);
    if (!task) return;
    pending.delete(id);
    clearTimeout(task.timer);
    finish(task);
    if (pending.size === 0) idle = setTimeout(() => retire(current), idleMs).unref();
  };

  const handleReport = (report: PageReport): void =>
    settle(report.id, ({ resolve, reject, hadEarlierPages }) => {
      if (report.type === 'done') resolve(report.answer);
      else
        reject(
          report.limit
            ? new PageLimitError(report.limit, { isAfterOthers: hadEarlierPages })
            : new Error('the page cannot be parsed'),
        );
    });

  const start = (): RestrictedProcess => {
    const started = startRestrictedProcess({
      entryUrl: new URL('./page-process', import.meta.url),
      packages: ['@mozilla/readability', 'linkedom', 'robots-parser'],
    });
    const ownTasks = pending;
    pageCount = 0;
    listenForReports(started, (report) => {
      handleReport(report);
      if (report.type === 'failed' && report.limit === 'memory') retire(started);
    });
    void started.termination.then(() => {
      retire(started);
      for (const { reject, timer, hadEarlierPages } of ownTasks.values()) {
        clearTimeout(timer);
        reject(new PageLimitError('exit', { isAfterOthers: hadEarlierPages }));
      }
    });
    return started;
  };

  return {
    runTask: (task) =>
      new Promise((resolve, reject) => {
        if (isClosed) return reject(new PageLimitError('exit'));
        clearTimeout(idle);
        current ??= start();
        const target = current;
        const id = ++lastId;
        const timer = setTimeout(() => {
          settle(id, () => reject(new PageLimitError('time')));
          retire(target);
        }, limits.cpuMsMax * WALL_CLOCK_FACTOR);
        const hadEarlierPages = task.type === 'page' && pageCount++ > 0;
        pending.set(id, { resolve, reject, timer, hadEarlierPages });
        const { bytes, rest } = splitBytes(task);
        const command: PageCommand = { id, task: rest, sizeBytes: bytes.byteLength, ...limits };
        target.child.stdin?.write(Buffer.concat([Buffer.from(`${JSON.stringify(command)}\n`), bytes]));
      }),
    async close() {
      isClosed = true;
      clearTimeout(idle);
      const closed = current;
      closed?.kill();
      await closed?.termination;
    },
  };
}

function splitBytes(task: PageTask): { readonly bytes: Uint8Array; readonly rest: PageCommand['task'] } {
  if (task.type === 'rules') return { bytes: new Uint8Array(), rest: task };
  const { bytes, ...rest } = task;
  return { bytes, rest };
}

/** Calls `onReport` for each report line. Kills a process that sends an invalid or too long line. */
function listenForReports({ child, kill }: RestrictedProcess, onReport: (report: PageReport) => void): void {
  let pieces: Buffer[] = [];
  let size = 0;
  child.stdout?.on('data', (piece: Buffer) => {
    pieces.push(piece);
    size += piece.length;
    if (size > REPORT_BYTES_MAX) return kill();
    if (!piece.includes(0x0a)) return;
    const received = Buffer.concat(pieces);
    const end = received.lastIndexOf(0x0a);
    pieces = [received.subarray(end + 1)];
    size = received.length - end - 1;
    try {
      // Written by Parley's code, but a page may have compromised that process: consumers check the values.
      for (const line of received.toString('utf8', 0, end).split('\n')) onReport(JSON.parse(line) as PageReport);
    } catch {
      kill();
    }
  });
}
