import type { Clock } from '../lib/clock.ts';
import { omitNullish } from '../lib/omit-nullish.ts';

/** Progress of a download or conversion. */
export interface PullProgress {
  readonly weights: string;
  /** The origin of the bytes. `conversion` follows a download. */
  readonly source: 'hub' | 'packages' | 'registry' | 'conversion';
  readonly doneBytes: number;
  /** An estimate for packages until the last part is downloaded. */
  readonly totalBytes?: number;
  /** Number of finished parts, out of `parts`. */
  readonly donePart?: number;
  readonly parts?: number;
  /** Rate over the last seconds; 0 until there are two samples. */
  readonly ratePerSecond: number;
  readonly secondsLeft?: number;
}

export type ReportProgress = (progress: PullProgress) => void;

export interface ProgressMeter {
  /**
   * Reports the current state. `doneBytes` counts from the start of the file, including bytes of an earlier attempt.
   */
  update(done: { doneBytes: number; totalBytes?: number | undefined; donePart?: number }): void;
}

/** Period over which the rate is averaged, in ms: long enough to be steady, short enough to follow a change. */
const RATE_WINDOW_MS = 10_000;

/** Minimum time between two reports, in ms. The first and the last report are always made. */
const REPORT_INTERVAL_MS = 200;

export interface ProgressMeterOptions {
  readonly weights: string;
  readonly source: PullProgress['source'];
  readonly parts?: number;
  readonly clock: Clock;
  readonly report: ReportProgress;
}

export function createProgressMeter({ weights, source, parts, clock, report }: ProgressMeterOptions): ProgressMeter {
  const samples: { at: number; bytes: number }[] = [];
  let reportedAt = -Infinity;
  return {
    update({ doneBytes, totalBytes, donePart }) {
      const nowMs = clock.monotonic();
      const isLast = doneBytes === totalBytes;
      if (nowMs - reportedAt < REPORT_INTERVAL_MS && !isLast) return;
      reportedAt = nowMs;
      samples.push({ at: nowMs, bytes: doneBytes });
      while (samples.length > 2 && nowMs - (samples[0]?.at ?? nowMs) > RATE_WINDOW_MS) samples.shift();
      const first = samples[0] ?? { at: nowMs, bytes: doneBytes };
      const rate = nowMs > first.at ? Math.max(0, ((doneBytes - first.bytes) * 1000) / (nowMs - first.at)) : 0;
      report({
        weights,
        source,
        doneBytes,
        ...omitNullish({ totalBytes, donePart, parts }),
        ratePerSecond: rate,
        ...(totalBytes !== undefined && rate > 0 ? { secondsLeft: Math.max(0, totalBytes - doneBytes) / rate } : {}),
      });
    },
  };
}
