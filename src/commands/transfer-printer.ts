import { formatBytes } from '../weights/format-bytes.ts';
import { createTerminalRedraw, type TerminalStream } from './terminal-stream.ts';

export interface TransferPrinter {
  /** Shows the progress of a phase. On streams that are no terminals, nothing is printed. */
  update(phase: string, progress: { readonly doneBytes: number; readonly totalBytes: number }): void;
  /** Removes the progress. */
  finish(): void;
}

const BAR_CHARS = 24;

/** Ms between two updates on the screen. */
const UPDATE_MS = 100;

/** Prints one line with a progress bar on a terminal. */
export function createTransferPrinter(
  stream: TerminalStream,
  now: () => number = () => performance.now(),
): TransferPrinter {
  const redraw = createTerminalRedraw(stream);
  let shownAt = -Infinity;
  let shownPhase = '';
  return {
    update(phase, { doneBytes, totalBytes }) {
      if (!stream.isTTY || (phase === shownPhase && now() - shownAt < UPDATE_MS)) return;
      shownAt = now();
      shownPhase = phase;
      const share = totalBytes === 0 ? 1 : Math.min(1, doneBytes / totalBytes);
      const bar = '#'.repeat(Math.round(share * BAR_CHARS)).padEnd(BAR_CHARS, '.');
      const sizes = `${formatBytes(doneBytes)} of ${formatBytes(totalBytes)}`;
      stream.write(redraw(`${phase.padEnd(8)} [${bar}] ${Math.floor(share * 100)} %, ${sizes}\n`));
    },
    finish() {
      if (shownPhase !== '') stream.write(redraw(''));
    },
  };
}
