// Main file of the process that decodes one recording and ends. It is decoded in a thread, which reads standard input and
// writes standard output itself, and waits in both; so this side always sees how long it takes and how much memory all of it
// holds.
import { writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { AUDIO_HEAP_MB } from '../core/limits.ts';
import { ownFile } from '../lib/sealed-process.ts';
import { watchCost } from '../lib/watch-cost.ts';
import type { DecoderNews } from './decoder-thread.ts';

const STDERR = 2;

/** What the thread has done so far, for the time it may take: seconds of sound, MiB read. */
const done = new Float64Array(new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT));
let unwatch = (): void => undefined;

const thread = new Worker(ownFile(new URL('./decoder-thread', import.meta.url)), {
  workerData: done,
  env: {},
  stdout: true,
  stderr: true,
  resourceLimits: { maxOldGenerationSizeMb: AUDIO_HEAP_MB },
});
thread.on('message', (news: DecoderNews) => {
  if (news.type === 'ended') return process.exit(0);
  const { msBase, msPerSecond, msPerMib, residentBytesMax } = news.limits;
  unwatch();
  unwatch = watchCost({
    msMax: () => msBase + msPerSecond * (done[0] ?? 0) + msPerMib * (done[1] ?? 0),
    residentBytesMax,
    onOver: giveUp,
  });
});
thread.on('error', (error) => {
  if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') return giveUp('memory');
  writeSync(STDERR, `${error.stack ?? error.message}\n`);
  process.kill(process.pid, 'SIGKILL');
});

/** The thread may be in the middle of a call of the system, which only an end from outside ends. */
function giveUp(limit: 'time' | 'memory'): void {
  writeSync(STDERR, `\nover: ${limit}\n`);
  process.kill(process.pid, 'SIGKILL');
}
