import type { Clock } from '../lib/clock.ts';
import { formatBytes } from './format-bytes.ts';
import type { PullProgress, ReportProgress } from './progress-meter.ts';

/** The members of a terminal or log stream that the printer uses. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface ProgressPrinter {
  readonly report: ReportProgress;
  /** Ends the line that is being rewritten, so that other output starts on a new line. */
  finishLine(): void;
}

/** Minimum time between two lines without a terminal, in ms. */
const PLAIN_INTERVAL_MS_MIN = 5_000;
/**
 * Time after which a line is printed whatever the progress, in ms. Before it, the share must have grown by the minimum.
 */
const PLAIN_INTERVAL_MS_MAX = 60_000;
const PLAIN_SHARE_MIN = 0.1;

/** Creates a printer that rewrites one line on a terminal, and elsewhere prints few plain lines, as suits a log. */
export function createProgressPrinter(stream: ProgressStream, clock: Clock): ProgressPrinter {
  return stream.isTTY ? createTerminalPrinter(stream) : createPlainPrinter(stream, clock);
}

function createTerminalPrinter(stream: ProgressStream): ProgressPrinter {
  let isOpen = false;
  return {
    report(progress) {
      isOpen = true;
      stream.write(`\r${describeProgress(progress).slice(0, (stream.columns ?? 80) - 1)}\u001b[K`);
    },
    finishLine() {
      if (isOpen) stream.write('\n');
      isOpen = false;
    },
  };
}

function createPlainPrinter(stream: ProgressStream, clock: Clock): ProgressPrinter {
  let lastPrinted: { at: number; share: number; of: string } | undefined;
  return {
    report(progress) {
      const nowMs = clock.monotonic();
      const { doneBytes, totalBytes } = progress;
      const share = totalBytes ? doneBytes / totalBytes : 0;
      const downloadName = `${progress.weights} ${progress.source}`;
      const isDue =
        lastPrinted?.of !== downloadName ||
        (share === 1 && lastPrinted.share < 1) ||
        (nowMs - lastPrinted.at >= PLAIN_INTERVAL_MS_MIN && share - lastPrinted.share >= PLAIN_SHARE_MIN) ||
        nowMs - lastPrinted.at >= PLAIN_INTERVAL_MS_MAX;
      if (!isDue) return;
      lastPrinted = { at: nowMs, share, of: downloadName };
      stream.write(`${describeProgress(progress)}\n`);
    },
    finishLine() {
      lastPrinted = undefined;
    },
  };
}

/** Formats a progress, for example `svc from packages: 42 % 206 MB of 491 MB, part 3 of 6, 12 MB/s, 0:23 left`. */
export function describeProgress(progress: PullProgress): string {
  const { weights, source, doneBytes, totalBytes, donePart, parts, ratePerSecond, secondsLeft } = progress;
  const details = [
    totalBytes
      ? `${Math.floor((100 * doneBytes) / totalBytes)} % ${formatBytes(doneBytes)} of ${formatBytes(totalBytes)}`
      : formatBytes(doneBytes),
  ];
  if (parts !== undefined && parts > 1) details.push(`part ${donePart ?? 0} of ${parts}`);
  if (ratePerSecond > 0) details.push(`${formatBytes(ratePerSecond)}/s`);
  if (secondsLeft !== undefined && secondsLeft > 0) details.push(`${formatDuration(secondsLeft)} left`);
  return `${weights} from ${source}: ${details.join(', ')}`;
}

function formatDuration(seconds: number): string {
  const whole = Math.ceil(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const rest = String(whole % 60).padStart(2, '0');
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`;
}
