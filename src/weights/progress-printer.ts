import type { Clock } from '../lib/clock.ts';
import { formatBytes } from './format-bytes.ts';
import type { PullProgress, ReportProgress } from './progress.ts';

/** The part of a terminal or log stream that is used. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface ProgressPrinter {
  readonly report: ReportProgress;
  /** Ends the line that is being rewritten, so that other output begins on its own. */
  end(): void;
}

/** Without a terminal: no line before this time, in ms, has passed … */
const PLAIN_MS_MIN = 5_000;
/** … and, unless this much time has passed, none before this share is done. */
const PLAIN_MS_MAX = 60_000;
const PLAIN_SHARE = 0.1;

/** On a terminal one line that is rewritten; elsewhere plain lines, few enough for a log. */
export function createProgressPrinter(stream: ProgressStream, clock: Clock): ProgressPrinter {
  return stream.isTTY ? rewritten(stream) : plainLines(stream, clock);
}

function rewritten(stream: ProgressStream): ProgressPrinter {
  let isOpen = false;
  return {
    report(progress) {
      isOpen = true;
      stream.write(`\r${describeProgress(progress).slice(0, (stream.columns ?? 80) - 1)}\u001b[K`);
    },
    end() {
      if (isOpen) stream.write('\n');
      isOpen = false;
    },
  };
}

function plainLines(stream: ProgressStream, clock: Clock): ProgressPrinter {
  let printed: { at: number; share: number; of: string } | undefined;
  return {
    report(progress) {
      const at = clock.monotonic();
      const { doneBytes, totalBytes } = progress;
      const share = totalBytes ? doneBytes / totalBytes : 0;
      const of = `${progress.weights} ${progress.source}`;
      const isDue =
        printed?.of !== of ||
        (share === 1 && printed.share < 1) ||
        (at - printed.at >= PLAIN_MS_MIN && share - printed.share >= PLAIN_SHARE) ||
        at - printed.at >= PLAIN_MS_MAX;
      if (!isDue) return;
      printed = { at, share, of };
      stream.write(`${describeProgress(progress)}\n`);
    },
    end() {
      printed = undefined;
    },
  };
}

/** `svc from packages: 42 % 206 MB of 491 MB, part 3 of 6, 12 MB/s, 0:23 left` */
export function describeProgress(progress: PullProgress): string {
  const { weights, source, doneBytes, totalBytes, donePart, parts, ratePerSecond, secondsLeft } = progress;
  const facts = [
    totalBytes
      ? `${Math.floor((100 * doneBytes) / totalBytes)} % ${formatBytes(doneBytes)} of ${formatBytes(totalBytes)}`
      : formatBytes(doneBytes),
  ];
  if (parts !== undefined && parts > 1) facts.push(`part ${donePart ?? 0} of ${parts}`);
  if (ratePerSecond > 0) facts.push(`${formatBytes(ratePerSecond)}/s`);
  if (secondsLeft !== undefined && secondsLeft > 0) facts.push(`${formatDuration(secondsLeft)} left`);
  return `${weights} from ${source}: ${facts.join(', ')}`;
}

function formatDuration(seconds: number): string {
  const whole = Math.ceil(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const rest = String(whole % 60).padStart(2, '0');
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`;
}
