// Main file of the process that reads pages and evaluates robots rules, each kind of task in a thread of its own. It is
// a process because a thread that runs out of memory may end its process (page-reader.ts).
import { createBoundedWorker, WorkerLimitError } from '../../lib/bounded-worker.ts';
import type { BoundedWorker } from '../../lib/bounded-worker.ts';
import { watchResourceUsage } from '../../lib/watch-resource-usage.ts';
import type { PageTaskResult, PageCommand, PageReport, PageTask } from './page-task.ts';

const WORKER_URL = new URL(`./page-worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

type Thread = BoundedWorker<PageTask, PageTaskResult>;

const threads = new Map<string, Thread>();

function getThread({ task, cpuMsMax, heapMb }: PageCommand): Thread {
  const existing = threads.get(task.type);
  if (existing) return existing;
  const thread: Thread = createBoundedWorker({ name: task.type, entryUrl: WORKER_URL, msMax: cpuMsMax, heapMb });
  threads.set(task.type, thread);
  return thread;
}

async function runTask(command: PageCommand, bytes: Uint8Array): Promise<void> {
  const { id, residentBytesMax } = command;
  const unwatch = watchResourceUsage({
    msMax: () => Infinity,
    residentBytesMax,
    onExceeded: () => sendReport({ id, type: 'failed', limit: 'memory' }, () => process.exit(1)),
  });
  try {
    const task = command.task.type === 'page' ? { ...command.task, bytes } : command.task;
    sendReport({ id, type: 'done', answer: await getThread(command).run(task) });
  } catch (error) {
    sendReport({ id, type: 'failed', ...(error instanceof WorkerLimitError ? { limit: error.limit } : {}) });
  } finally {
    unwatch();
  }
}

function sendReport(report: PageReport, onWritten?: () => void): void {
  process.stdout.write(`${JSON.stringify(report)}\n`, onWritten);
}

let received = Buffer.alloc(0);
process.stdin.on('data', (piece: Buffer) => {
  received = Buffer.concat([received, piece]);
  for (;;) {
    const end = received.indexOf(0x0a);
    if (end < 0) return;
    // Written by the parent process.
    const command = JSON.parse(received.toString('utf8', 0, end)) as PageCommand;
    const commandEnd = end + 1 + command.sizeBytes;
    if (received.length < commandEnd) return;
    const bytes = new Uint8Array(received.subarray(end + 1, commandEnd));
    received = received.subarray(commandEnd);
    void runTask(command, bytes);
  }
});
// Standard input ends when the service process is gone.
process.stdin.on('end', () => process.exit(0));
