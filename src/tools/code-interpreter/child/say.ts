import { writeSync } from 'node:fs';
import type { Report } from './messages.ts';

/** Ours: ms between tries where whoever reads has not read yet. */
const AGAIN_MS = 2;

const STDOUT = 1;
const asleep = new Int32Array(new SharedArrayBuffer(4));

/** Writes a line and waits until it is written: what was said before the process is killed has been said. */
export function say(report: Report): void {
  let rest: Uint8Array = Buffer.from(`${JSON.stringify(report)}\n`);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(STDOUT, rest));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
      Atomics.wait(asleep, 0, 0, AGAIN_MS);
    }
  }
}
