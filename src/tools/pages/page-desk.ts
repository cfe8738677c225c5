import { startSealed } from '../../lib/sealed-process.ts';
import type { SealedProcess } from '../../lib/sealed-process.ts';
import type { PageAnswer, PageOrder, PageReport, PageTask } from './page-task.ts';

/** A page took more than it may; `gone`: its process ended, which may have been another page's doing. */
export class PageLimitError extends Error {
  override readonly name = 'PageLimitError';
  readonly limit: 'time' | 'memory' | 'gone';
  /** Its process had read a page before, whose memory it may still have held. */
  readonly isAfterOthers: boolean;

  constructor(limit: 'time' | 'memory' | 'gone', { isAfterOthers = false } = {}) {
    super(`reading took too much: ${limit}`);
    this.limit = limit;
    this.isAfterOthers = isAfterOthers;
  }
}

/** The process that reads: started with the first task, ended some time after the last. */
export interface PageDesk {
  /** @throws PageLimitError; Error where it cannot be understood. */
  ask(task: PageTask): Promise<PageAnswer>;
  close(): Promise<void>;
}

export interface PageDeskOptions {
  /** Of the processor for one task, in ms; by the clock, many times as much. */
  readonly msMax: number;
  readonly heapMb: number;
  readonly residentBytesMax: number;
  readonly idleMs: number;
}

/** Ours: how many times as long as it works a task may take on a machine that is busy otherwise. */
const WAIT_FACTOR = 16;

/** Bytes of one report. */
const REPORT_BYTES_MAX = 8 * 1024 * 1024;

interface Waiting {
  readonly isAfterOthers: boolean;
  readonly resolve: (answer: PageAnswer) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

export function createPageDesk({ idleMs, ...limits }: PageDeskOptions): PageDesk {
  let process: SealedProcess | undefined;
  let waiting = new Map<number, Waiting>();
  let lastId = 0;
  /** That the process was given. */
  let pages = 0;
  let idle: NodeJS.Timeout | undefined;
  let isClosed = false;

  /** Ends it, and gives it nothing more: what is sent to a process that is about to end is lost. */
  const retire = (old: SealedProcess | undefined): void => {
    if (process === old) {
      process = undefined;
      waiting = new Map();
    }
    old?.kill();
  };

  const settle = (id: number, how: (one: Waiting) => void): void => {
    const one = waiting.get(id);
    if (!one) return;
    waiting.delete(id);
    clearTimeout(one.timer);
    how(one);
    if (waiting.size === 0) idle = setTimeout(() => retire(process), idleMs).unref();
  };

  const hear = (report: PageReport): void =>
    settle(report.id, ({ resolve, reject, isAfterOthers }) => {
      if (report.type === 'done') resolve(report.answer);
      else
        reject(
          report.limit ? new PageLimitError(report.limit, { isAfterOthers }) : new Error('a page cannot be understood'),
        );
    });

  const start = (): SealedProcess => {
    const started = startSealed({
      main: new URL('./page-process', import.meta.url),
      packages: ['@mozilla/readability', 'linkedom', 'robots-parser'],
    });
    const own = waiting;
    pages = 0;
    onLines(started, (report) => {
      hear(report);
      if (report.type === 'failed' && report.limit === 'memory') retire(started);
    });
    void started.ended.then(() => {
      retire(started);
      for (const { reject, timer, isAfterOthers } of own.values()) {
        clearTimeout(timer);
        reject(new PageLimitError('gone', { isAfterOthers }));
      }
    });
    return started;
  };

  return {
    ask: (task) =>
      new Promise((resolve, reject) => {
        if (isClosed) return reject(new PageLimitError('gone'));
        clearTimeout(idle);
        process ??= start();
        const asked = process;
        const id = ++lastId;
        const timer = setTimeout(() => {
          settle(id, () => reject(new PageLimitError('time')));
          retire(asked);
        }, limits.msMax * WAIT_FACTOR);
        const isAfterOthers = task.type === 'page' && pages++ > 0;
        waiting.set(id, { resolve, reject, timer, isAfterOthers });
        const { bytes, rest } = withoutBytes(task);
        const order: PageOrder = { id, task: rest, sizeBytes: bytes.byteLength, ...limits };
        asked.child.stdin?.write(Buffer.concat([Buffer.from(`${JSON.stringify(order)}\n`), bytes]));
      }),
    async close() {
      isClosed = true;
      clearTimeout(idle);
      const closed = process;
      closed?.kill();
      await closed?.ended;
    },
  };
}

function withoutBytes(task: PageTask): { readonly bytes: Uint8Array; readonly rest: PageOrder['task'] } {
  if (task.type === 'rules') return { bytes: new Uint8Array(), rest: task };
  const { bytes, ...rest } = task;
  return { bytes, rest };
}

/** Each report as it comes; a process that says what it should not is ended. */
function onLines({ child, kill }: SealedProcess, hear: (report: PageReport) => void): void {
  let pieces: Buffer[] = [];
  let size = 0;
  child.stdout?.on('data', (piece: Buffer) => {
    pieces.push(piece);
    size += piece.length;
    if (size > REPORT_BYTES_MAX) return kill();
    if (!piece.includes(0x0a)) return;
    const all = Buffer.concat(pieces);
    const end = all.lastIndexOf(0x0a);
    pieces = [all.subarray(end + 1)];
    size = all.length - end - 1;
    try {
      // Our own code wrote them, in a process that a page may have got hold of: what is in them is checked where it is used.
      for (const line of all.toString('utf8', 0, end).split('\n')) hear(JSON.parse(line) as PageReport);
    } catch {
      kill();
    }
  });
}
