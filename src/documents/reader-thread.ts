// Main file of the thread that reads a document (reader-process.ts).
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../lib/assert.ts';
import type { ExtractionResult } from './document.ts';
import { readDocument } from './read-document.ts';

/** Data that the reader process passes to this thread. */
export interface ReaderTask {
  readonly bytes: Uint8Array;
  readonly name: string;
  readonly textBytesMax: number;
}

assert(parentPort, 'reader-thread must run in a worker thread');
const port = parentPort;
const { bytes, ...options } = workerData as ReaderTask;

let result: ExtractionResult;
try {
  result = await readDocument(bytes, options);
} catch (error) {
  // The message of a library may quote the document, so it is replaced.
  const problem =
    error instanceof RangeError ? 'is too large or nested too deeply' : 'is damaged or has an unknown format';
  result = { type: 'failed', reason: `The file ${problem}.` };
}
port.postMessage(result);
