import type { Clock } from '../lib/clock.ts';
import { formatBytes } from '../weights/format-bytes.ts';
import type { CheckedArea } from './check-problem.ts';
import type { TerminalStream } from './terminal-stream.ts';

/** Ms between two changes of the bar on a terminal, and between two lines elsewhere. */
const TERMINAL_INTERVAL_MS = 100;
const PLAIN_INTERVAL_MS = 10_000;

/** Width of the bar in characters. */
const BAR_CHARS = 30;

/** Shows how far a check is: a bar on a terminal, elsewhere a line at the start of an area and every ten seconds. */
export interface CheckProgress {
  /** Starts an area. `totalBytes` is 0 if the amount of work is unknown. */
  start(area: CheckedArea, totalBytes: number): void;
  add(area: CheckedArea, bytes: number): void;
  /** Ends the line that is being rewritten, so that other output starts on a new line. */
  finish(): void;
}

export function createCheckProgress(stream: TerminalStream, clock: Clock): CheckProgress {
  const isTerminal = stream.isTTY === true;
  let current: { readonly area: CheckedArea; readonly totalBytes: number; doneBytes: number } | undefined;
  let shownAt = -Infinity;
  const show = (): void => {
    if (!current) return;
    shownAt = clock.monotonic();
    const { area, totalBytes, doneBytes } = current;
    const share = totalBytes > 0 ? Math.min(1, doneBytes / totalBytes) : 0;
    const amount =
      totalBytes > 0 ? ` ${Math.floor(share * 100)} % ${formatBytes(doneBytes)} of ${formatBytes(totalBytes)}` : '';
    if (!isTerminal) return void stream.write(`checking ${area}${amount}\n`);
    const filled = Math.round(share * BAR_CHARS);
    const bar = totalBytes > 0 ? ` [${'#'.repeat(filled)}${'.'.repeat(BAR_CHARS - filled)}]` : '';
    stream.write(`\r${`checking ${area}${bar}${amount}`.slice(0, (stream.columns ?? 80) - 1)}\u001b[K`);
  };
  return {
    start(area, totalBytes) {
      current = { area, totalBytes, doneBytes: 0 };
      show();
    },
    add(area, bytes) {
      if (current?.area !== area) return;
      current.doneBytes += bytes;
      if (clock.monotonic() - shownAt >= (isTerminal ? TERMINAL_INTERVAL_MS : PLAIN_INTERVAL_MS)) show();
    },
    finish() {
      if (isTerminal && current) stream.write('\r\u001b[K');
      current = undefined;
    },
  };
}
