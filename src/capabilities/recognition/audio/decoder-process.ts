// Main file of the child process that decodes one recording. A thread decodes it, with blocking reads of standard input
// and
// blocking writes to standard output, so that this thread can always check the CPU time and the memory of the process.
import { writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { AUDIO_HEAP_MB } from './limits.ts';
import { resolveSourceFile } from '../../../lib/restricted-process.ts';
import { watchResourceUsage } from '../../../lib/watch-resource-usage.ts';
import type { DecoderThreadMessage } from './decoder-thread.ts';

const STDERR = 2;

/** Progress of the thread, which determines its CPU time limit: seconds of audio, MiB read. */
const progress = new Float64Array(new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT));
let stopWatching = (): void => undefined;

const thread = new Worker(resolveSourceFile(new URL('./decoder-thread', import.meta.url)), {
  workerData: progress,
  env: {},
  stdout: true,
  stderr: true,
  resourceLimits: { maxOldGenerationSizeMb: AUDIO_HEAP_MB },
});
thread.on('message', (message: DecoderThreadMessage) => {
  if (message.type === 'finished') return process.exit(0);
  const { cpuMsBase, cpuMsPerSecond, cpuMsPerMib, residentBytesMax } = message.limits;
  stopWatching();
  stopWatching = watchResourceUsage({
    msMax: () => cpuMsBase + cpuMsPerSecond * (progress[0] ?? 0) + cpuMsPerMib * (progress[1] ?? 0),
    residentBytesMax,
    onExceeded: exitOverLimit,
  });
});
thread.on('error', (error) => {
  if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') return exitOverLimit('memory');
  writeSync(STDERR, `${error.stack ?? error.message}\n`);
  process.kill(process.pid, 'SIGKILL');
});

/** Kills the process, because the thread may be blocked in a system call, which only a signal ends. */
function exitOverLimit(limit: 'time' | 'memory'): void {
  writeSync(STDERR, `\nlimit exceeded: ${limit}\n`);
  process.kill(process.pid, 'SIGKILL');
}
