// Main file of the process that reads documents, one after the other. A thread reads them, so that this thread can always
// measure time and memory, and end both together.
import { Worker } from 'node:worker_threads';
import { assert } from '../lib/assert.ts';
import { resolveSourceFile } from '../lib/restricted-process.ts';
import { watchResourceUsage } from '../lib/watch-resource-usage.ts';
import { WALL_CLOCK_FACTOR, type ExtractionResult, type ExtractionLimits } from './document.ts';
import type { ReaderTask } from './reader-thread.ts';
import { getErrorCode } from '../lib/error-code.ts';

/** A line of standard input. `sizeBytes` bytes of the document follow; the next command follows after the report. */
export interface ReaderCommand {
  readonly name: string;
  readonly sizeBytes: number;
  readonly limits: ExtractionLimits;
}

/** A line of standard output. `bytes` bytes of text follow. */
export type ReaderReport =
  | { readonly type: 'text'; readonly kind: string; readonly chars: number; readonly bytes: number }
  /** `end`: why the process ends. */
  | { readonly type: 'failed'; readonly reason: string; readonly end?: ReaderEnd | undefined };

/**
 * Why a process ends after a document: a limit of time or memory, or an error of its thread. Documents that it has read
 * before may be the reason, but not for the time.
 */
export type ReaderEnd = 'time' | 'memory' | 'error';

const tooMuchMemory = createFailure('takes too much memory to read');

/** Receives the result of the current document, or the limit that reading it exceeded. */
let onResult: ((result: ExtractionResult, end: ReaderEnd | undefined) => void) | undefined;
let thread: Worker | undefined;

receiveDocuments((command, document) => void readDocument(command, document));
// Standard input ends when the service process is gone.
process.stdin.on('end', () => process.exit(0));

async function readDocument({ name, limits }: ReaderCommand, document: Uint8Array<ArrayBuffer>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<{ result: ExtractionResult; end: ReaderEnd | undefined }>();
  onResult = (result, end) => resolve({ result, end });
  const tooLong = (): void => onResult?.(createFailure(`takes longer than ${limits.cpuMsMax} ms to read`), 'time');
  // CPU time is the limit that counts: on a busy machine, the wall-clock time may be several times as long.
  const timer = setTimeout(tooLong, limits.cpuMsMax * WALL_CLOCK_FACTOR);
  const unwatch = watchResourceUsage({
    msMax: () => limits.cpuMsMax,
    residentBytesMax: limits.residentBytesMax,
    onExceeded: (limit) => (limit === 'time' ? tooLong() : onResult?.(tooMuchMemory, 'memory')),
  });
  thread ??= startThread(limits.heapMb);
  const task: ReaderTask = { bytes: document, name, textBytesMax: limits.textBytesMax };
  thread.postMessage(task, [document.buffer]);
  const { result, end } = await promise;
  onResult = undefined;
  clearTimeout(timer);
  unwatch();
  sendReport(result, end);
}

function startThread(heapMb: number): Worker {
  const started = new Worker(resolveSourceFile(new URL('./reader-thread', import.meta.url)), {
    env: {},
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
  });
  started.on('message', (result: ExtractionResult) => onResult?.(result, undefined));
  started.on('error', (error) => {
    const isMemory = getErrorCode(error) === 'ERR_WORKER_OUT_OF_MEMORY';
    if (isMemory) onResult?.(tooMuchMemory, 'memory');
    else onResult?.(createFailure('is damaged'), 'error');
  });
  return started;
}

/** Writes the result. After an exceeded limit the process exits, whatever the thread is doing. */
function sendReport(result: ExtractionResult, end: ReaderEnd | undefined): void {
  const text = result.type === 'text' ? result.text : new Uint8Array();
  const report: ReaderReport =
    result.type === 'text'
      ? { type: 'text', kind: result.kind, chars: result.chars, bytes: text.length }
      : { type: 'failed', reason: result.reason, end };
  process.stdout.write(`${JSON.stringify(report)}\n`);
  process.stdout.write(text, () => (end !== undefined ? process.exit(0) : undefined));
}

function createFailure(problem: string): ExtractionResult {
  return { type: 'failed', reason: `The file ${problem}.` };
}

/** Calls `onDocument` for each document that arrives on standard input. */
function receiveDocuments(onDocument: (command: ReaderCommand, document: Uint8Array<ArrayBuffer>) => void): void {
  let head = Buffer.alloc(0);
  let command: ReaderCommand | undefined;
  let document = new Uint8Array();
  let filled = 0;
  process.stdin.on('data', (piece: Buffer) => {
    let bytes = piece;
    if (!command) {
      head = Buffer.concat([head, piece]);
      const end = head.indexOf(0x0a);
      if (end < 0) return;
      // Written by the parent process.
      command = JSON.parse(head.toString('utf8', 0, end)) as ReaderCommand;
      document = new Uint8Array(command.sizeBytes);
      filled = 0;
      bytes = head.subarray(end + 1);
      head = Buffer.alloc(0);
    }
    assert(filled + bytes.length <= document.length, 'a document has as many bytes as announced');
    document.set(bytes, filled);
    filled += bytes.length;
    if (filled < document.length) return;
    const received = command;
    command = undefined;
    onDocument(received, document);
  });
}
