// Entry of the thread that shows that its process works. It writes to the descriptor itself: the streams of a thread pass
// through the main thread, which may be busy.
import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { BEAT_LINE, type BeatThreadData } from './beats.ts';

const BEAT_MS = 1_000;

/** Share of the time between two beats that a working process computes at least, on all its threads together. */
const BUSY_SHARE = 0.05;

const STDOUT = 1;

const { ticks } = workerData as BeatThreadData;
let lastTicks = 0;
let lastCpuMs = 0;

const readCpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

setInterval(() => {
  const [currentTicks, currentCpuMs] = [Atomics.load(ticks, 0), readCpuMs()];
  const isRunning = currentTicks !== lastTicks || currentCpuMs - lastCpuMs > BEAT_MS * BUSY_SHARE;
  lastTicks = currentTicks;
  lastCpuMs = currentCpuMs;
  if (!isRunning) return;
  try {
    writeSync(STDOUT, `${BEAT_LINE}\n`);
  } catch {
    // The parent has ended, or is too slow to read: it then misses no sign.
  }
}, BEAT_MS);
