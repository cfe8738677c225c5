import { write, writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';
import { LOG_CHARS_WAITING_MAX } from '../core/limits.ts';

export interface LogFile extends DestinationStream {
  /** Writes what waits now; what cannot be written is lost. */
  flush(): void;
}

/** Characters that are written at once, and how long, in ms, fewer may wait. Ours: a write costs more than a line. */
const ENOUGH_CHARS = 12_288;
const WAIT_MS = 100;

/** Ours: ms between two tries at a pipe whose reader is slow, and how many a flush makes. */
const RETRY_MS = 100;
const FLUSH_TRIES_MAX = 5;

/**
 * Lines to a file descriptor, several at a time; what is left is written when the process ends.
 *
 * A log that cannot be written stops nothing: where the disk is full, or the reader slower than the lines, lines are lost,
 * and a line says how many when there is room again. (pino's own destination takes a full disk for a busy one when it
 * flushes, and tries for ever.)
 */
export function logFile(fd: number): LogFile {
  let waiting: string[] = [];
  let chars = 0;
  let lost = 0;
  let isWriting = false;
  /** The last write broke off in the middle of a line. */
  let isCut = false;
  let timer: NodeJS.Timeout | undefined;

  const take = (): { readonly bytes: Buffer; readonly lines: number } => {
    const told = lost > 0 ? lostLine(lost) : '';
    const taken = {
      bytes: Buffer.from(`${isCut ? '\n' : ''}${told}${waiting.join('')}`),
      lines: lost + waiting.length,
    };
    [waiting, chars, lost, isCut] = [[], 0, 0, false];
    return taken;
  };

  const start = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (isWriting) return;
    if (waiting.length === 0) return void process.off('exit', flush);
    isWriting = true;
    const { bytes, lines } = take();
    writeAll(bytes, lines);
  };
  const startLater = (): void => {
    timer ??= setTimeout(start, WAIT_MS).unref();
  };
  const writeAll = (bytes: Buffer, lines: number): void => {
    write(fd, bytes, (error, count) => {
      if (error?.code === 'EAGAIN') return void setTimeout(() => writeAll(bytes, lines), RETRY_MS).unref();
      isCut = !error && count < bytes.length;
      if (isCut) return writeAll(bytes.subarray(count), lines);
      isWriting = false;
      if (error) lost += lines;
      if (!error && chars >= ENOUGH_CHARS) start();
      else startLater();
    });
  };

  const flush = (): void => {
    if (waiting.length === 0) return;
    let { bytes, lines } = take();
    for (let tries = 0; bytes.length > 0 && tries < FLUSH_TRIES_MAX;) {
      try {
        bytes = bytes.subarray(writeSync(fd, bytes));
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) break;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
        tries++;
      }
    }
    if (bytes.length === 0) lines = 0;
    lost += lines;
  };

  return {
    write(line) {
      if (chars + line.length > LOG_CHARS_WAITING_MAX) {
        lost++;
        return;
      }
      if (waiting.length === 0 && !process.listeners('exit').includes(flush)) process.on('exit', flush);
      waiting.push(line);
      chars += line.length;
      if (chars >= ENOUGH_CHARS) start();
      else startLater();
    },
    flush,
  };
}

/** In the form of the others. */
const lostLine = (lines: number): string =>
  `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), lines, msg: 'log lines could not be written and are lost' })}\n`;
