import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { statOf } from './file-system.ts';
import type { ProgressMeter } from './progress.ts';

export interface PartsWatch {
  /** Looks now. */
  look(): Promise<void>;
  stop(): void;
}

export interface PartsWatchNeeds {
  readonly partsFolder: string;
  readonly totalBytes: number | undefined;
  readonly meter: ProgressMeter;
}

/** Time, in ms, between two looks: a few dozen file sizes each. */
const LOOK_MS = 500;

/** Tells how far a download of parts is by the sizes of its files: pip itself says nothing that can be relied on. */
export function watchParts({ partsFolder, totalBytes, meter }: PartsWatchNeeds): PartsWatch {
  let most = 0;
  let isLooking = false;
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    try {
      const { donePart, bytes } = await measure(partsFolder);
      // A wheel is a little smaller than what it holds: the sum may step back for a moment, the display does not.
      most = Math.max(most, totalBytes === undefined ? bytes : Math.min(bytes, totalBytes));
      meter.set({ doneBytes: most, totalBytes, donePart });
    } finally {
      isLooking = false;
    }
  };
  // A display is not worth a failed download: what could not be measured now is measured at the next look.
  const timer = setInterval(() => void look().catch(() => undefined), LOOK_MS);
  return { look, stop: () => clearInterval(timer) };
}

/** Finished parts count by their size, a part in work by its largest file (the wheel, then what comes out of it). */
async function measure(folder: string): Promise<{ donePart: number; bytes: number }> {
  let donePart = 0;
  let bytes = 0;
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) bytes += await largestFile(join(folder, entry.name));
    else if (/^\d+$/.test(entry.name)) {
      donePart++;
      bytes += (await statOf(join(folder, entry.name)))?.size ?? 0;
    }
  }
  return { donePart, bytes };
}

async function largestFile(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => []); // gone: the part is finished
  const sizes = await Promise.all(names.map(async (name) => statOf(join(folder, name))));
  return sizes.reduce((largest, stats) => Math.max(largest, stats?.isFile() ? stats.size : 0), 0);
}
