import { randomBytes } from 'node:crypto';
import type { InterpreterReport, StartInterpreterCommand } from './messages.ts';
import type { RealmFunctions } from './realm.ts';
import { writeReport } from './write-report.ts';

/** Returns the bytes of a file that may be read now, or undefined. */
export type InterpreterFiles = (name: string) => Uint8Array | undefined;

export interface RealmHost {
  readonly functions: RealmFunctions;
  configure(order: StartInterpreterCommand): void;
  startProgram(nonce: string): void;
}

interface HostOptions {
  readonly wake: (timer: number) => void;
  readonly files: InterpreterFiles;
}

/** Output is buffered up to BUFFER_BYTES, or for BUFFER_MS, before it is sent. */
const BUFFER_BYTES = 16 * 1024;
const BUFFER_MS = 50;

/** Bytes per chunk of a snapshot: a multiple of three, so that the base64 texts can be concatenated. */
const SNAPSHOT_CHUNK_BYTES = 3 * 1024 * 1024;

/** Limit of the log messages of the interpreter, in characters. */
const LOG_CHARS_MAX = 4_000;

const RANDOM_BYTES_MAX = 65_536;
const WAIT_MS_MAX = 2_147_483_647;

const STREAMS = ['stdout', 'stderr'] as const;

const base64Slice = Buffer.prototype.base64Slice;
const setBytes = Uint8Array.prototype.set;
const lengthGetter = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), 'length')?.get;

/**
 * Creates the functions that Python's realm may call. Their arguments may be any values, whatever their types say.
 * Nothing is called on them; only functions of the runtime touch them, which accept real byte arrays and refuse the
 * rest.
 */
export function createRealmHost({ wake, files }: HostOptions): RealmHost {
  let nonce = '';
  let limits: StartInterpreterCommand['limits'] | undefined;
  let logCharsLeft = LOG_CHARS_MAX;
  let filesLeft = 0;
  let fileBytesLeft = 0;
  let isTruncated = false;
  /** Output is accepted only while a program runs; code that it left behind may go on printing. */
  let isRunning = false;
  /** While no program runs, timers of programs are held back, because no timeout would end their code. */
  let holdsTimers = false;
  const heldTimers: number[] = [];
  let isReported = false;
  const outputPieces = { stdout: [] as string[], stderr: [] as string[] };
  const outputBytesLeft = { stdout: 0, stderr: 0 };
  let bufferedBytes = 0;
  let flushedAt = 0;

  const base64 = (bytes: Uint8Array, from: number, to: number): string => Reflect.apply(base64Slice, bytes, [from, to]);
  const getLength = (bytes: Uint8Array): number => Number(lengthGetter && Reflect.apply(lengthGetter, bytes, []));
  const send = (report: InterpreterReport): void => writeReport(report);

  const flush = (): void => {
    for (const stream of STREAMS) {
      if (outputPieces[stream].length === 0) continue;
      const bytes = Buffer.concat(outputPieces[stream].map((piece) => Buffer.from(piece, 'base64')));
      outputPieces[stream] = [];
      send({ nonce, type: 'output', stream, bytes: bytes.toString('base64') });
    }
    bufferedBytes = 0;
    flushedAt = performance.now();
  };

  const functions: RealmFunctions = {
    getFileSize: (name) => files(String(typeof name === 'string' ? name : ''))?.length ?? 0,
    readFile(name, bytes) {
      const source = typeof name === 'string' ? files(name) : undefined;
      if (source) Reflect.apply(setBytes, bytes, [source]);
    },
    getRandomBytes: (bytes) => randomBytes(clampToInteger(bytes, RANDOM_BYTES_MAX)).toString('base64'),
    getTime: () => performance.now(),
    setTimer(timer, ms) {
      const number = clampToInteger(timer, Number.MAX_SAFE_INTEGER);
      setTimeout(
        () => {
          if (holdsTimers) heldTimers.push(number);
          else wake(number);
        },
        clampToInteger(ms, WAIT_MS_MAX),
      );
    },
    log(text) {
      if (typeof text !== 'string' || logCharsLeft <= 0) return;
      process.stderr.write(`${text.slice(0, logCharsLeft)}\n`);
      logCharsLeft -= text.length;
    },
    writeOutput(stream, bytes) {
      if (!isRunning || (stream !== 'stdout' && stream !== 'stderr')) return;
      const fullLength = getLength(bytes);
      const length = Math.min(fullLength, outputBytesLeft[stream]);
      if (length < fullLength) isTruncated = true;
      if (length === 0) return;
      outputBytesLeft[stream] -= length;
      outputPieces[stream].push(base64(bytes, 0, length));
      bufferedBytes += length;
      if (bufferedBytes >= BUFFER_BYTES || performance.now() - flushedAt >= BUFFER_MS) flush();
    },
    sendFile(name, bytes) {
      if (!isRunning) return;
      const length = getLength(bytes);
      if (typeof name !== 'string' || filesLeft === 0 || length > fileBytesLeft) {
        isTruncated = true;
        return;
      }
      filesLeft--;
      fileBytesLeft -= length;
      send({ nonce, type: 'file', name: name.slice(0, 1_000), bytes: base64(bytes, 0, length) });
    },
    sendSnapshot(bytes) {
      const length = getLength(bytes);
      for (let at = 0; at < length; at += SNAPSHOT_CHUNK_BYTES) {
        send({ nonce, type: 'snapshot', bytes: base64(bytes, at, Math.min(length, at + SNAPSHOT_CHUNK_BYTES)) });
      }
      send({ nonce, type: 'snapshot', bytes: '' });
    },
    reportReady: () => send({ nonce, type: 'ready' }),
    reportDone(ofNonce, outcome) {
      if (!isRunning || isReported || ofNonce !== nonce || typeof outcome !== 'string') return;
      // The texts come from a program; the service checks each of them again.
      const reported = JSON.parse(outcome) as Extract<InterpreterReport, { type: 'done' }>['outcome'];
      isReported = true;
      // Settled promises of the program run first: a program that never yields does not count as finished.
      setImmediate(() => {
        flush();
        isRunning = false;
        holdsTimers = true;
        send({ nonce, type: 'done', outcome: { ...reported, isTruncated: reported.isTruncated || isTruncated } });
      });
    },
    reportBroken(reason) {
      flush();
      send({ nonce, type: 'broken', reason: typeof reason === 'string' ? reason.slice(0, LOG_CHARS_MAX) : '' });
    },
  };

  return {
    functions,
    configure(command) {
      ({ nonce, limits } = command);
    },
    startProgram(ofNonce) {
      nonce = ofNonce;
      isTruncated = false;
      isReported = false;
      isRunning = true;
      holdsTimers = false;
      for (const timer of heldTimers.splice(0)) functions.setTimer(timer, 0);
      outputBytesLeft.stdout = limits?.outputBytesMax ?? 0;
      outputBytesLeft.stderr = outputBytesLeft.stdout;
      filesLeft = limits?.filesMax ?? 0;
      fileBytesLeft = limits?.filesBytesMax ?? 0;
    },
  };
}

/** Returns a non-negative integer of at most `valueMax`; 0 for other values. */
const clampToInteger = (value: unknown, valueMax: number): number =>
  typeof value === 'number' && value > 0 ? Math.min(Math.floor(value), valueMax) : 0;
