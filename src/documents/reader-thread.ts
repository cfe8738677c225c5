// Main file of the thread that reads documents (reader-process.ts), one after the other.
import { parentPort } from 'node:worker_threads';
import { assert } from '../lib/assert.ts';
import type { ExtractionResult } from './document.ts';
import { freezeNodeGlobals } from '../lib/freeze-node-globals.ts';
import { readDocument } from './read-document.ts';

/** A document that the reader process passes to this thread. */
export interface ReaderTask {
  readonly bytes: Uint8Array;
  readonly name: string;
  readonly textBytesMax: number;
}

assert(parentPort, 'reader-thread must run in a worker thread');
const port = parentPort;
freezeNodeGlobals();
port.on('message', ({ bytes, ...options }: ReaderTask) => {
  void read(bytes, options).then((result) => port.postMessage(result));
});

async function read(bytes: Uint8Array, options: Omit<ReaderTask, 'bytes'>): Promise<ExtractionResult> {
  try {
    return await readDocument(bytes, options);
  } catch (error) {
    // The message of a library may quote the document, so it is replaced.
    const problem =
      error instanceof RangeError ? 'is too large or nested too deeply' : 'is damaged or has an unknown format';
    return { type: 'failed', reason: `The file ${problem}.` };
  }
}
