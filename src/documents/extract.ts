import type { ChildProcess } from 'node:child_process';
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
import { startSealed, writeTo } from '../lib/sealed-process.ts';
import { createTurns } from '../lib/turns.ts';
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
  const turns = createTurns({ atOnce, waitingMax, refuse: tooMany });
  return async (source, wish) => {
    wish.signal.throwIfAborted();
    if (wish.sizeBytes > limits.sourceBytesMax) {
      const reason = `The file has ${wish.sizeBytes} bytes; one of which the text is read may have ${limits.sourceBytesMax}.`;
      return { type: 'failed', reason };
    }
    if (wish.sizeBytes === 0) return { type: 'failed', reason: 'The file is empty.' };
    const leave = await turns.enter(wish.signal);
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
  const { child, ended, said, kill } = startSealed({
    main: new URL('./reader-process', import.meta.url),
    packages: ['unpdf', 'htmlparser2'],
  });
  let isLate = false;
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
    throw new Error(`the process that reads documents ended without a word: ${told} ${said()}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
    kill();
    await ended;
  }
}

/** Standard input stays open: it closes with us, whatever ends us, and the process ends with it. */
async function send(child: ChildProcess, order: ReaderOrder, source: AsyncIterable<Uint8Array>): Promise<void> {
  await writeTo(child, `${JSON.stringify(order)}\n`);
  let sentBytes = 0;
  for await (const piece of source) {
    sentBytes += piece.length;
    if (sentBytes > order.sizeBytes) throw new Error('the document has more bytes than were announced');
    if (child.stdin?.destroyed !== false) return;
    await writeTo(child, piece);
  }
  if (sentBytes < order.sizeBytes) throw new Error('the document has fewer bytes than were announced');
}

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

const tooMany = (): ServiceError =>
  new ServiceError('overloaded', 'Too many documents wait to be read. Please try again later.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
