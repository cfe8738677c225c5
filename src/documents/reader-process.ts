// Main file of the process that reads one document and ends. The document is read in a thread of it, so that this side
// always sees how long it takes and how much memory all of it holds, and ends both in one.
import { Worker } from 'node:worker_threads';
import { assert } from '../lib/assert.ts';
import { WAIT_FACTOR } from './document.ts';
import type { Extracted, ReadingLimits } from './document.ts';
import type { ReaderTask } from './reader-thread.ts';

/** The first line of standard input; so many bytes of the document follow, and it stays open after them. */
export interface ReaderOrder {
  readonly name: string;
  readonly sizeBytes: number;
  readonly limits: ReadingLimits;
}

/** The first line of standard output; so many bytes of text follow. */
export type ReaderReport =
  | { readonly type: 'text'; readonly kind: string; readonly chars: number; readonly bytes: number }
  | { readonly type: 'failed'; readonly reason: string };

/** Ours: ms between looks at the time that was used and the memory that is held. */
const LOOK_MS = 25;

let hasTold = false;

const { order, document } = await takeIn();
const { limits } = order;
const task: ReaderTask = { bytes: document, name: order.name, textBytesMax: limits.textBytesMax };
const thread = new Worker(
  new URL(`./reader-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
  {
    workerData: task,
    transferList: [document.buffer],
    env: {},
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: limits.heapMb },
  },
);
const tooLong = (): void => tell(failed(`takes longer than ${limits.msMax} ms to read`));
// What counts is the time it works: on a busy machine it may have to wait several times as long.
const timer = setTimeout(tooLong, limits.msMax * WAIT_FACTOR);
const usedBefore = process.cpuUsage();
const look = setInterval(() => {
  const { user, system } = process.cpuUsage(usedBefore);
  if ((user + system) / 1000 > limits.msMax) tooLong();
  if (process.memoryUsage.rss() > limits.residentBytesMax) tell(failed('takes too much memory to read'));
}, LOOK_MS);
thread.on('message', (result: Extracted) => tell(result));
thread.on('error', (error) =>
  tell(
    failed(
      'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'takes too much memory to read' : 'is damaged',
    ),
  ),
);
// Whoever waits for the text is gone.
process.stdin.on('end', () => process.exit(0)).resume();

/** Once; then this process ends, whatever its thread is at. */
function tell(result: Extracted): void {
  if (hasTold) return;
  hasTold = true;
  clearTimeout(timer);
  clearInterval(look);
  const text = result.type === 'text' ? result.text : new Uint8Array();
  const report: ReaderReport =
    result.type === 'text'
      ? { type: 'text', kind: result.kind, chars: result.chars, bytes: text.length }
      : { type: 'failed', reason: result.reason };
  process.stdout.write(`${JSON.stringify(report)}\n`);
  process.stdout.write(text, () => process.exit(0));
}

const failed = (what: string): Extracted => ({ type: 'failed', reason: `The file ${what}.` });

function takeIn(): Promise<{ readonly order: ReaderOrder; readonly document: Uint8Array<ArrayBuffer> }> {
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0);
    let order: ReaderOrder | undefined;
    let document = new Uint8Array();
    let filled = 0;
    const take = (bytes: Uint8Array): void => {
      assert(filled + bytes.length <= document.length, 'a document has as many bytes as were announced');
      document.set(bytes, filled);
      filled += bytes.length;
    };
    const onData = (piece: Buffer): void => {
      if (order) take(piece);
      else {
        head = Buffer.concat([head, piece]);
        const end = head.indexOf(0x0a);
        if (end < 0) return;
        // The process that started us wrote it.
        order = JSON.parse(head.toString('utf8', 0, end)) as ReaderOrder;
        document = new Uint8Array(order.sizeBytes);
        take(head.subarray(end + 1));
      }
      if (filled < document.length) return;
      process.stdin.off('data', onData).off('end', onEnd);
      resolve({ order, document });
    };
    const onEnd = (): void => reject(new Error('the document was cut off'));
    process.stdin.on('data', onData).on('end', onEnd);
  });
}
