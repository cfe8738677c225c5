// Main file of the thread in which a document is read (reader-process.ts).
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../lib/assert.ts';
import type { Extracted } from './document.ts';
import { readDocument } from './read-document.ts';

/** Handed over by the process that this thread is of. */
export interface ReaderTask {
  readonly bytes: Uint8Array;
  readonly name: string;
  readonly textBytesMax: number;
}

assert(parentPort, 'this is the main file of a thread');
const port = parentPort;
const { bytes, ...wish } = workerData as ReaderTask;

let result: Extracted;
try {
  result = await readDocument(bytes, wish);
} catch (error) {
  // Whatever a library says of a document that it does not understand: it may quote the document.
  const what =
    error instanceof RangeError
      ? 'is nested too deep, or too large'
      : 'is damaged, or of a kind that is not understood';
  result = { type: 'failed', reason: `The file ${what}.` };
}
port.postMessage(result);
