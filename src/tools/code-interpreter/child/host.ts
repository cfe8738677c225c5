import { randomBytes } from 'node:crypto';
import type { Report, StartOrder } from './messages.ts';
import type { Host } from './realm.ts';
import { say } from './say.ts';

/** Bytes of a name that may be read now; undefined: there is none. */
export type InterpreterFiles = (name: string) => Uint8Array | undefined;

export interface RealmHost {
  readonly functions: Host;
  begin(order: StartOrder): void;
  beginProgram(nonce: string): void;
}

interface HostOptions {
  readonly wake: (timer: number) => void;
  readonly files: InterpreterFiles;
}

/** Bytes of output that are gathered before they are sent, and ms for which they are. */
const GATHERED_BYTES = 16 * 1024;
const GATHERED_MS = 50;

/** Bytes of one piece of an image: a multiple of three, so that its base64 can be put together again. */
const PIECE_BYTES = 3 * 1024 * 1024;

/** Of what is noted while the interpreter loads, and by it later on. */
const NOTE_CHARS_MAX = 4_000;

const RANDOM_BYTES_MAX = 65_536;
const WAIT_MS_MAX = 2_147_483_647;

const STREAMS = ['stdout', 'stderr'] as const;

const base64Slice = Buffer.prototype.base64Slice;
const setBytes = Uint8Array.prototype.set;
const lengthGetter = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), 'length')?.get;

/**
 * The functions that Python's realm may call. What they are handed may be anything, whatever its type says: it is asked
 * nothing, and only the runtime's own functions touch it, which take bytes for bytes and refuse the rest.
 */
export function createHost({ wake, files }: HostOptions): RealmHost {
  let nonce = '';
  let limits: StartOrder['limits'] | undefined;
  let noteRoom = NOTE_CHARS_MAX;
  let filesLeft = 0;
  let fileBytesLeft = 0;
  let isCut = false;
  /** What is left behind by a program may go on to print when it is over: nobody asked for that. */
  let isRunning = false;
  /** While no program runs, nothing of one is woken: no clock would end it. */
  let isAsleep = false;
  const overslept: number[] = [];
  let isDone = false;
  const gathered = { stdout: [] as string[], stderr: [] as string[] };
  const left = { stdout: 0, stderr: 0 };
  let gatheredBytes = 0;
  let flushedAt = 0;

  const base64 = (bytes: Uint8Array, from: number, to: number): string => Reflect.apply(base64Slice, bytes, [from, to]);
  const lengthOf = (bytes: Uint8Array): number => Number(lengthGetter && Reflect.apply(lengthGetter, bytes, []));
  const tell = (report: Report): void => say(report);

  const flush = (): void => {
    for (const stream of STREAMS) {
      if (gathered[stream].length === 0) continue;
      const bytes = Buffer.concat(gathered[stream].map((piece) => Buffer.from(piece, 'base64')));
      gathered[stream] = [];
      tell({ nonce, type: 'printed', stream, bytes: bytes.toString('base64') });
    }
    gatheredBytes = 0;
    flushedAt = performance.now();
  };

  const functions: Host = {
    size: (name) => files(String(typeof name === 'string' ? name : ''))?.length ?? 0,
    fill(name, bytes) {
      const source = typeof name === 'string' ? files(name) : undefined;
      if (source) Reflect.apply(setBytes, bytes, [source]);
    },
    random: (bytes) => randomBytes(within(bytes, RANDOM_BYTES_MAX)).toString('base64'),
    now: () => performance.now(),
    wakeIn(timer, ms) {
      const number = within(timer, Number.MAX_SAFE_INTEGER);
      setTimeout(
        () => {
          if (isAsleep) overslept.push(number);
          else wake(number);
        },
        within(ms, WAIT_MS_MAX),
      );
    },
    note(text) {
      if (typeof text !== 'string' || noteRoom <= 0) return;
      process.stderr.write(`${text.slice(0, noteRoom)}\n`);
      noteRoom -= text.length;
    },
    printed(stream, bytes) {
      if (!isRunning || (stream !== 'stdout' && stream !== 'stderr')) return;
      const whole = lengthOf(bytes);
      const length = Math.min(whole, left[stream]);
      if (length < whole) isCut = true;
      if (length === 0) return;
      left[stream] -= length;
      gathered[stream].push(base64(bytes, 0, length));
      gatheredBytes += length;
      if (gatheredBytes >= GATHERED_BYTES || performance.now() - flushedAt >= GATHERED_MS) flush();
    },
    file(name, bytes) {
      if (!isRunning) return;
      const length = lengthOf(bytes);
      if (typeof name !== 'string' || filesLeft === 0 || length > fileBytesLeft) {
        isCut = true;
        return;
      }
      filesLeft--;
      fileBytesLeft -= length;
      tell({ nonce, type: 'file', name: name.slice(0, 1_000), bytes: base64(bytes, 0, length) });
    },
    snapshot(bytes) {
      const length = lengthOf(bytes);
      for (let at = 0; at < length; at += PIECE_BYTES) {
        tell({ nonce, type: 'snapshot', bytes: base64(bytes, at, Math.min(length, at + PIECE_BYTES)) });
      }
      tell({ nonce, type: 'snapshot', bytes: '' });
    },
    ready: () => tell({ nonce, type: 'ready' }),
    done(ofNonce, outcome) {
      if (!isRunning || isDone || ofNonce !== nonce || typeof outcome !== 'string') return;
      // Texts of a program's making: the service looks at each of them again.
      const told = JSON.parse(outcome) as Extract<Report, { type: 'done' }>['outcome'];
      isDone = true;
      // Promises of the program's that are kept already come first: one that never gives way is not over.
      setImmediate(() => {
        flush();
        isRunning = false;
        isAsleep = true;
        tell({ nonce, type: 'done', outcome: { ...told, isCut: told.isCut || isCut } });
      });
    },
    broken(reason) {
      flush();
      tell({ nonce, type: 'broken', reason: typeof reason === 'string' ? reason.slice(0, NOTE_CHARS_MAX) : '' });
    },
  };

  return {
    functions,
    begin(order) {
      ({ nonce, limits } = order);
    },
    beginProgram(ofNonce) {
      nonce = ofNonce;
      isCut = false;
      isDone = false;
      isRunning = true;
      isAsleep = false;
      for (const timer of overslept.splice(0)) functions.wakeIn(timer, 0);
      left.stdout = limits?.outputBytesMax ?? 0;
      left.stderr = left.stdout;
      filesLeft = limits?.filesMax ?? 0;
      fileBytesLeft = limits?.filesBytesMax ?? 0;
    },
  };
}

/** A whole number from 0 on; 0 for whatever is none. */
const within = (value: unknown, most: number): number =>
  typeof value === 'number' && value > 0 ? Math.min(Math.floor(value), most) : 0;
