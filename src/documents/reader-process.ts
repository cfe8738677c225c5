// Main file of the process that reads one document and exits. A thread reads the document, so that this thread can
// always measure its time and memory, and end both together.
import { Worker } from 'node:worker_threads';
import { assert } from '../lib/assert.ts';
import { resolveSourceFile } from '../lib/restricted-process.ts';
import { watchResourceUsage } from '../lib/watch-resource-usage.ts';
import { WALL_CLOCK_FACTOR, type ExtractionResult, type ExtractionLimits } from './document.ts';
import type { ReaderTask } from './reader-thread.ts';
import { getErrorCode } from '../lib/error-code.ts';

/** The first line of standard input. `sizeBytes` bytes of the document follow; standard input stays open. */
export interface ReaderCommand {
  readonly name: string;
  readonly sizeBytes: number;
  readonly limits: ExtractionLimits;
}

/** The first line of standard output. `bytes` bytes of text follow. */
export type ReaderReport =
  | { readonly type: 'text'; readonly kind: string; readonly chars: number; readonly bytes: number }
  | { readonly type: 'failed'; readonly reason: string };

let hasReported = false;

const { command, document } = await receiveCommand();
const { limits } = command;
const task: ReaderTask = { bytes: document, name: command.name, textBytesMax: limits.textBytesMax };
const thread = new Worker(resolveSourceFile(new URL('./reader-thread', import.meta.url)), {
  workerData: task,
  transferList: [document.buffer],
  env: {},
  stdout: true,
  stderr: true,
  resourceLimits: { maxOldGenerationSizeMb: limits.heapMb },
});
const tooMuchMemory = createFailure('takes too much memory to read');
const tooLong = (): void => sendReport(createFailure(`takes longer than ${limits.cpuMsMax} ms to read`));
// CPU time is the limit that counts: on a busy machine, the wall-clock time may be several times as long.
const timer = setTimeout(tooLong, limits.cpuMsMax * WALL_CLOCK_FACTOR);
const unwatch = watchResourceUsage({
  msMax: () => limits.cpuMsMax,
  residentBytesMax: limits.residentBytesMax,
  onExceeded: (limit) => (limit === 'time' ? tooLong() : sendReport(tooMuchMemory)),
});
thread.on('message', (result: ExtractionResult) => sendReport(result));
thread.on('error', (error) =>
  sendReport(getErrorCode(error) === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuchMemory : createFailure('is damaged')),
);
// Standard input ends when the service process is gone.
process.stdin.on('end', () => process.exit(0)).resume();

/** Writes the first result, then exits, whatever the thread is doing. */
function sendReport(result: ExtractionResult): void {
  if (hasReported) return;
  hasReported = true;
  clearTimeout(timer);
  unwatch();
  const text = result.type === 'text' ? result.text : new Uint8Array();
  const report: ReaderReport =
    result.type === 'text'
      ? { type: 'text', kind: result.kind, chars: result.chars, bytes: text.length }
      : { type: 'failed', reason: result.reason };
  process.stdout.write(`${JSON.stringify(report)}\n`);
  process.stdout.write(text, () => process.exit(0));
}

function createFailure(problem: string): ExtractionResult {
  return { type: 'failed', reason: `The file ${problem}.` };
}

function receiveCommand(): Promise<{ readonly command: ReaderCommand; readonly document: Uint8Array<ArrayBuffer> }> {
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0);
    let command: ReaderCommand | undefined;
    let document = new Uint8Array();
    let filled = 0;
    const append = (bytes: Uint8Array): void => {
      assert(filled + bytes.length <= document.length, 'a document has as many bytes as announced');
      document.set(bytes, filled);
      filled += bytes.length;
    };
    const onData = (piece: Buffer): void => {
      if (command) append(piece);
      else {
        head = Buffer.concat([head, piece]);
        const end = head.indexOf(0x0a);
        if (end < 0) return;
        // Written by the parent process.
        command = JSON.parse(head.toString('utf8', 0, end)) as ReaderCommand;
        document = new Uint8Array(command.sizeBytes);
        append(head.subarray(end + 1));
      }
      if (filled < document.length) return;
      process.stdin.off('data', onData).off('end', onEnd);
      resolve({ command, document });
    };
    const onEnd = (): void => reject(new Error('the document is incomplete'));
    process.stdin.on('data', onData).on('end', onEnd);
  });
}
