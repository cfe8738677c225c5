import { write, writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';
import { LOG_BUFFER_CHARS_MAX } from './limits.ts';
import { getErrorCode } from '../lib/error-code.ts';

export interface LogFile extends DestinationStream {
  /** Writes all waiting lines synchronously. Lines that cannot be written are dropped. */
  flush(): void;
}

/** Characters from which lines are written, and the ms that fewer wait, because a write costs more than a line. */
const WRITE_CHARS_MIN = 12_288;
const WRITE_DELAY_MS = 100;

/** Ms between attempts to write to a pipe whose reader is slow, and attempts per flush. */
const RETRY_MS = 100;
const FLUSH_ATTEMPTS_MAX = 5;

/**
 * Creates a destination that writes log lines to a file descriptor, several at a time, and the rest at process exit.
 *
 * A log that cannot be written stops nothing: when the disk is full or the reader too slow, lines are dropped, and a
 * later line reports their number. (pino's destination treats a full disk as busy when it flushes, and retries
 * forever.)
 */
export function createLogFile(fd: number): LogFile {
  let waiting: string[] = [];
  let chars = 0;
  let lostLines = 0;
  let isWriting = false;
  /** Whether the last write ended in the middle of a line. */
  let isLinePartial = false;
  let timer: NodeJS.Timeout | undefined;

  const drain = (): { readonly bytes: Buffer; readonly lines: number } => {
    const lostNotice = lostLines > 0 ? formatLostLines(lostLines) : '';
    const drained = {
      bytes: Buffer.from(`${isLinePartial ? '\n' : ''}${lostNotice}${waiting.join('')}`),
      lines: lostLines + waiting.length,
    };
    [waiting, chars, lostLines, isLinePartial] = [[], 0, 0, false];
    return drained;
  };

  const startWrite = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (isWriting) return;
    if (waiting.length === 0) return void process.off('exit', flush);
    isWriting = true;
    const { bytes, lines } = drain();
    writeAll(bytes, lines);
  };
  const scheduleWrite = (): void => {
    timer ??= setTimeout(startWrite, WRITE_DELAY_MS).unref();
  };
  const writeAll = (bytes: Buffer, lines: number): void => {
    write(fd, bytes, (error, count) => {
      if (error?.code === 'EAGAIN') return void setTimeout(() => writeAll(bytes, lines), RETRY_MS).unref();
      isLinePartial = !error && count < bytes.length;
      if (isLinePartial) return writeAll(bytes.subarray(count), lines);
      isWriting = false;
      if (error) lostLines += lines;
      if (!error && chars >= WRITE_CHARS_MIN) startWrite();
      else scheduleWrite();
    });
  };

  const flush = (): void => {
    if (waiting.length === 0) return;
    let { bytes, lines } = drain();
    for (let tries = 0; bytes.length > 0 && tries < FLUSH_ATTEMPTS_MAX;) {
      try {
        bytes = bytes.subarray(writeSync(fd, bytes));
      } catch (error) {
        if (getErrorCode(error) !== 'EAGAIN') break;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
        tries++;
      }
    }
    if (bytes.length === 0) lines = 0;
    lostLines += lines;
  };

  return {
    write(line) {
      if (chars + line.length > LOG_BUFFER_CHARS_MAX) {
        lostLines++;
        return;
      }
      if (waiting.length === 0 && !process.listeners('exit').includes(flush)) process.on('exit', flush);
      waiting.push(line);
      chars += line.length;
      if (chars >= WRITE_CHARS_MIN) startWrite();
      else scheduleWrite();
    },
    flush,
  };
}

/** Formats a line that reports dropped lines, like the lines of `createLog`. */
const formatLostLines = (lines: number): string =>
  `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), lines, msg: 'log lines dropped' })}\n`;
