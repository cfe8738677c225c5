import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

/** Line that a child process prints once a second to show that it is alive. */
export const BEAT_LINE = '{"beat":true}';

/** Interval in ms in which the main thread shows that it runs. */
const TICK_MS = 500;

/** Memory of the JavaScript heap of the thread, in MB. */
const HEAP_MB = 16;

/** Data of the thread that prints the beats. */
export interface BeatThreadData {
  /** Number of intervals in which the main thread ran. */
  readonly ticks: Int32Array<SharedArrayBuffer>;
}

/**
 * Starts a thread of this process that prints `BEAT_LINE` while the process works: its main thread runs, or it uses CPU
 * time. A main thread that evaluates a long prompt therefore counts as alive, a stopped or deadlocked process does not.
 */
export function startBeats(): void {
  const ticks = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setInterval(() => Atomics.add(ticks, 0, 1), TICK_MS).unref();
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
  const thread = new Worker(fileURLToPath(new URL(`./beat-thread${extension}`, import.meta.url)), {
    name: 'beats',
    workerData: { ticks } satisfies BeatThreadData,
    // Flags of the process, such as those of a script on the command line, need not suit a thread.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  thread.unref();
  // Without beats the process is stopped as hung, which says more than a process that lost its thread.
  thread.on('error', (error) => process.stderr.write(`the thread of the beats failed: ${String(error)}\n`));
}
