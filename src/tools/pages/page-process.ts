// Main file of the process in which pages and the rules of their sites are read, each kind in a thread of its own: a thread
// that runs out of memory may take its process with it (page-reader.ts).
import { createBoundedWorker, WorkerLimitError } from '../../lib/bounded-worker.ts';
import type { BoundedWorker } from '../../lib/bounded-worker.ts';
import { watchCost } from '../../lib/watch-cost.ts';
import type { PageAnswer, PageOrder, PageReport, PageTask } from './page-task.ts';

const OWN_WORKER = new URL(`./page-worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

type Thread = BoundedWorker<PageTask, PageAnswer>;

const threads = new Map<string, Thread>();

function threadFor({ task, msMax, heapMb }: PageOrder): Thread {
  const known = threads.get(task.type);
  if (known) return known;
  const thread: Thread = createBoundedWorker({ name: task.type, main: OWN_WORKER, msMax, heapMb });
  threads.set(task.type, thread);
  return thread;
}

async function work(order: PageOrder, bytes: Uint8Array): Promise<void> {
  const { id, residentBytesMax } = order;
  const unwatch = watchCost({
    msMax: () => Infinity,
    residentBytesMax,
    onOver: () => tell({ id, type: 'failed', limit: 'memory' }, () => process.exit(1)),
  });
  try {
    const task = order.task.type === 'page' ? { ...order.task, bytes } : order.task;
    tell({ id, type: 'done', answer: await threadFor(order).ask(task) });
  } catch (error) {
    tell({ id, type: 'failed', ...(error instanceof WorkerLimitError ? { limit: error.limit } : {}) });
  } finally {
    unwatch();
  }
}

function tell(report: PageReport, onTold?: () => void): void {
  process.stdout.write(`${JSON.stringify(report)}\n`, onTold);
}

let received = Buffer.alloc(0);
process.stdin.on('data', (piece: Buffer) => {
  received = Buffer.concat([received, piece]);
  for (;;) {
    const end = received.indexOf(0x0a);
    if (end < 0) return;
    // The process that started us wrote it.
    const order = JSON.parse(received.toString('utf8', 0, end)) as PageOrder;
    const whole = end + 1 + order.sizeBytes;
    if (received.length < whole) return;
    const bytes = new Uint8Array(received.subarray(end + 1, whole));
    received = received.subarray(whole);
    void work(order, bytes);
  }
});
// Whoever waits for answers is gone.
process.stdin.on('end', () => process.exit(0));
