import { writeSync } from 'node:fs';
import type { InterpreterReport } from './messages.ts';

/** Chosen: ms between attempts while the pipe is full. */
const RETRY_MS = 2;

const STDOUT = 1;
const sleepCell = new Int32Array(new SharedArrayBuffer(4));

/** Writes a line synchronously, so that nothing reported is lost when the process is killed. */
export function writeReport(report: InterpreterReport): void {
  let rest: Uint8Array = Buffer.from(`${JSON.stringify(report)}\n`);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(STDOUT, rest));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
      Atomics.wait(sleepCell, 0, 0, RETRY_MS);
    }
  }
}
