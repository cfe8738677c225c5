import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { statIfExists } from './file-system.ts';
import type { ProgressMeter } from './progress-meter.ts';

export interface PartsProgressWatcher {
  /** Measures the parts now and reports the progress. */
  poll(): Promise<void>;
  stop(): void;
}

export interface PartsProgressOptions {
  readonly partsFolder: string;
  readonly totalBytes: number | undefined;
  readonly meter: ProgressMeter;
}

/** Interval between two measurements, in ms. One measurement reads a few dozen file sizes. */
const POLL_INTERVAL_MS = 500;

/** Reports the progress of a download in parts by the sizes of its files, because pip reports none reliably. */
export function watchPartsProgress({ partsFolder, totalBytes, meter }: PartsProgressOptions): PartsProgressWatcher {
  let highestBytes = 0;
  let running: Promise<void> | undefined;
  const report = async (): Promise<void> => {
    const { donePart, bytes } = await measureParts(partsFolder);
    // A wheel is slightly smaller than its content: the sum may decrease for a moment, the reported value does not.
    highestBytes = Math.max(highestBytes, totalBytes === undefined ? bytes : Math.min(bytes, totalBytes));
    meter.update({ doneBytes: highestBytes, totalBytes, donePart });
  };
  const measure = (): Promise<void> => (running ??= report().finally(() => (running = undefined)));
  // A failed measurement must not fail the download; the next one corrects the report.
  const timer = setInterval(() => void measure().catch(() => undefined), POLL_INTERVAL_MS);
  return {
    async poll() {
      // One that is running may have measured before the last change.
      await running?.catch(() => undefined);
      await measure();
    },
    stop: () => clearInterval(timer),
  };
}

/** Counts finished parts by their size, and a running part by its largest file: the wheel, then the unpacked member. */
async function measureParts(folder: string): Promise<{ donePart: number; bytes: number }> {
  let donePart = 0;
  let bytes = 0;
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) bytes += await findLargestFileBytes(join(folder, entry.name));
    else if (/^\d+$/.test(entry.name)) {
      donePart++;
      bytes += (await statIfExists(join(folder, entry.name)))?.size ?? 0;
    }
  }
  return { donePart, bytes };
}

async function findLargestFileBytes(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => []); // removed when finished
  const sizes = await Promise.all(names.map(async (name) => statIfExists(join(folder, name))));
  return sizes.reduce((largest, stats) => Math.max(largest, stats?.isFile() ? stats.size : 0), 0);
}
