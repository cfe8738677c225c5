import type { Clock } from '../lib/clock.ts';

/** How far a download is. */
export interface PullProgress {
  readonly weights: string;
  /** Where it comes from; a conversion is of what came before. */
  readonly source: 'hub' | 'packages' | 'registry' | 'conversion';
  readonly doneBytes: number;
  /** Of packages it is an estimate until the last part is there. */
  readonly totalBytes?: number;
  /** Parts that are finished, of `parts`. */
  readonly donePart?: number;
  readonly parts?: number;
  /** Bytes per second over the last seconds; 0 until two moments are known. */
  readonly ratePerSecond: number;
  readonly secondsLeft?: number;
}

export type ReportProgress = (progress: PullProgress) => void;

export interface ProgressMeter {
  /** `doneBytes` counts from the beginning of the file, also what an earlier run brought. */
  set(done: { doneBytes: number; totalBytes?: number | undefined; donePart?: number }): void;
}

/** Time, in ms, over which the rate is taken: long enough to be calm, short enough to follow a change. */
const WINDOW_MS = 10_000;

/** Time, in ms, between two reports. The first and the last are always made. */
const REPORT_MS = 200;

export interface MeterNeeds {
  readonly weights: string;
  readonly source: PullProgress['source'];
  readonly parts?: number;
  readonly clock: Clock;
  readonly report: ReportProgress;
}

export function createProgressMeter({ weights, source, parts, clock, report }: MeterNeeds): ProgressMeter {
  const samples: { at: number; bytes: number }[] = [];
  let reportedAt = -Infinity;
  return {
    set({ doneBytes, totalBytes, donePart }) {
      const at = clock.monotonic();
      const isLast = doneBytes === totalBytes;
      if (at - reportedAt < REPORT_MS && !isLast) return;
      reportedAt = at;
      samples.push({ at, bytes: doneBytes });
      while (samples.length > 2 && at - (samples[0]?.at ?? at) > WINDOW_MS) samples.shift();
      const first = samples[0] ?? { at, bytes: doneBytes };
      const rate = at > first.at ? Math.max(0, ((doneBytes - first.bytes) * 1000) / (at - first.at)) : 0;
      report({
        weights,
        source,
        doneBytes,
        ...(totalBytes === undefined ? {} : { totalBytes }),
        ...(donePart === undefined ? {} : { donePart }),
        ...(parts === undefined ? {} : { parts }),
        ratePerSecond: rate,
        ...(totalBytes !== undefined && rate > 0 ? { secondsLeft: Math.max(0, totalBytes - doneBytes) / rate } : {}),
      });
    },
  };
}
