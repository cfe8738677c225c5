import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createRequire } from 'node:module';
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ServiceError } from '../core/error.ts';
import {
  DOCUMENT_BYTES_MAX,
  DOCUMENT_HEAP_MB,
  DOCUMENT_READ_MS_MAX,
  DOCUMENT_RESIDENT_BYTES_MAX,
  DOCUMENT_TEXT_BYTES_MAX,
  DOCUMENTS_AT_ONCE,
  DOCUMENTS_WAITING_MAX,
  RETRY_AFTER_SECONDS,
} from '../core/limits.ts';
import { WAIT_FACTOR } from './document.ts';
import type { DocumentKind, Extracted, ReadingLimits } from './document.ts';
import type { ReaderOrder, ReaderReport } from './reader-process.ts';

export interface ExtractWish {
  readonly name: string;
  /** Of the source: no byte more and no byte less. */
  readonly sizeBytes: number;
  readonly signal: AbortSignal;
}

export interface Extract {
  /**
   * Reads a document in a process of its own, which ends with it. What is wrong with the document is its result, and so is
   * that it takes too long or too much memory.
   * @throws the signal's reason; whatever the source throws; ServiceError `overloaded` where too many wait; Error where
   * the process failed for no reason that it told: it may work again.
   */
  (source: AsyncIterable<Uint8Array>, wish: ExtractWish): Promise<Extracted>;
}

const LIMITS: ReadingLimits = {
  sourceBytesMax: DOCUMENT_BYTES_MAX,
  textBytesMax: DOCUMENT_TEXT_BYTES_MAX,
  msMax: DOCUMENT_READ_MS_MAX,
  heapMb: DOCUMENT_HEAP_MB,
  residentBytesMax: DOCUMENT_RESIDENT_BYTES_MAX,
};

/** Ours: ms that a process has for its own start and for saying that it took too long. Beyond: it is killed. */
const SLACK_MS = 30_000;

/** Bytes of the line before the text. */
const REPORT_BYTES_MAX = 64 * 1024;

/** Of what the process says beside its result, for the log. */
const STDERR_CHARS_MAX = 2_000;

export interface ExtractOptions {
  readonly limits?: Partial<ReadingLimits>;
  readonly atOnce?: number;
  readonly waitingMax?: number;
}

export function createExtract({
  limits: own = {},
  atOnce = DOCUMENTS_AT_ONCE,
  waitingMax = DOCUMENTS_WAITING_MAX,
}: ExtractOptions = {}): Extract {
  const limits = { ...LIMITS, ...own };
  const slots = createSlots(atOnce, waitingMax);
  return async (source, wish) => {
    wish.signal.throwIfAborted();
    if (wish.sizeBytes > limits.sourceBytesMax) {
      const reason = `The file has ${wish.sizeBytes} bytes; one of which the text is read may have ${limits.sourceBytesMax}.`;
      return { type: 'failed', reason };
    }
    if (wish.sizeBytes === 0) return { type: 'failed', reason: 'The file is empty.' };
    const leave = await slots.enter(wish.signal);
    try {
      // It may have been over just as its turn came.
      wish.signal.throwIfAborted();
      return await readInProcess(source, wish, limits);
    } finally {
      leave();
    }
  };
}

async function readInProcess(
  source: AsyncIterable<Uint8Array>,
  { name, sizeBytes, signal }: ExtractWish,
  limits: ReadingLimits,
): Promise<Extracted> {
  const child = start();
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, by) => resolve(by ?? `code ${code}`));
  });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-STDERR_CHARS_MAX)));
  let isLate = false;
  const kill = (): void => void child.kill('SIGKILL');
  const timer = setTimeout(
    () => {
      isLate = true;
      kill();
    },
    limits.msMax * WAIT_FACTOR + SLACK_MS,
  );
  signal.addEventListener('abort', kill, { once: true });
  try {
    const order: ReaderOrder = { name, sizeBytes, limits };
    const result = receive(child, limits);
    await Promise.race([send(child, order, source), result, ended]);
    const told = await Promise.race([result, ended]);
    if (typeof told !== 'string') return told;
    signal.throwIfAborted();
    if (isLate) return { type: 'failed', reason: `The file takes longer than ${limits.msMax} ms to read.` };
    throw new Error(`the process that reads documents ended without a word: ${told} ${said}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
    kill();
    await ended;
  }
}

/** Nothing of our environment, no file but our own code, no process of its own. */
function start(): ChildProcess {
  const main = fileURLToPath(
    new URL(`./reader-process${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
  );
  const readable = readableFolders();
  return spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      '--disable-warning=SecurityWarning',
      '--permission',
      '--allow-worker',
      ...readable.map((folder) => `--allow-fs-read=${folder}`),
      main,
    ],
    { env: {}, stdio: ['pipe', 'pipe', 'pipe'] },
  );
}

/** Where our own code is, and that of the packages it needs, wherever they were installed. */
function readableFolders(): readonly string[] {
  const own = fileURLToPath(new URL('../..', import.meta.url));
  const require = createRequire(import.meta.url);
  const packages = ['unpdf', 'htmlparser2'].map((name) => {
    const file = realpathSync(require.resolve(name));
    const at = file.search(/[/\\]node_modules[/\\]/);
    return at < 0 ? file : file.slice(0, at + 'node_modules'.length + 2);
  });
  return [...new Set([own, ...packages])];
}

/** Standard input stays open: it closes with us, whatever ends us, and the process ends with it. */
async function send(child: ChildProcess, order: ReaderOrder, source: AsyncIterable<Uint8Array>): Promise<void> {
  const { stdin } = child;
  if (!stdin) return;
  // A process that ended early; why is told by its end.
  stdin.on('error', () => undefined);
  stdin.write(`${JSON.stringify(order)}\n`);
  let sentBytes = 0;
  for await (const piece of source) {
    sentBytes += piece.length;
    if (sentBytes > order.sizeBytes) throw new Error('the document has more bytes than were announced');
    if (stdin.destroyed) return;
    if (!stdin.write(piece)) await drained(child);
  }
  if (sentBytes < order.sizeBytes) throw new Error('the document has fewer bytes than were announced');
}

/** Or it has ended. */
const drained = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    const over = (): void => {
      child.stdin?.off('drain', over);
      child.off('close', over);
      resolve();
    };
    child.stdin?.once('drain', over);
    child.once('close', over);
  });

/** What the process tells, as soon as it is whole; never where it ends before. */
const receive = (child: ChildProcess, { textBytesMax }: ReadingLimits): Promise<Extracted> =>
  new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    let report: ReaderReport | undefined;
    let textAt = 0;
    child.stdout?.on('data', (piece: Buffer) => {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes > textBytesMax + REPORT_BYTES_MAX) return void child.kill('SIGKILL');
      if (!report) {
        if (!piece.includes(0x0a)) return;
        const all = Buffer.concat(pieces);
        textAt = all.indexOf(0x0a) + 1;
        // Our own code wrote it, in a process that a document may have got hold of: the kind is checked.
        report = JSON.parse(all.toString('utf8', 0, textAt)) as ReaderReport;
      }
      if (report.type === 'failed') return resolve({ type: 'failed', reason: String(report.reason).slice(0, 500) });
      if (bytes < textAt + report.bytes) return;
      const text = Buffer.concat(pieces).subarray(textAt, textAt + report.bytes);
      resolve({ type: 'text', kind: report.kind as DocumentKind, text, chars: report.chars });
    });
  });

interface Slots {
  /** @returns what gives the place back. */
  enter(signal: AbortSignal): Promise<() => void>;
}

function createSlots(atOnce: number, waitingMax: number): Slots {
  const waiting: (() => void)[] = [];
  let taken = 0;
  const leave = (): void => {
    const next = waiting.shift();
    if (next) next();
    else taken--;
  };
  return {
    enter: (signal) =>
      new Promise((resolve, reject) => {
        if (taken < atOnce) {
          taken++;
          return resolve(leave);
        }
        if (waiting.length >= waitingMax) {
          const message = 'Too many documents wait to be read. Please try again later.';
          return reject(new ServiceError('overloaded', message, { retryAfterSeconds: RETRY_AFTER_SECONDS }));
        }
        const begin = (): void => {
          signal.removeEventListener('abort', onAbort);
          resolve(leave);
        };
        const onAbort = (): void => {
          waiting.splice(waiting.indexOf(begin), 1);
          reject(signal.reason as Error);
        };
        signal.addEventListener('abort', onAbort, { once: true });
        waiting.push(begin);
      }),
  };
}
