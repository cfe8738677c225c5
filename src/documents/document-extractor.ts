import type { Tenant } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import {
  DOCUMENT_BYTES_MAX,
  DOCUMENT_READ_CONCURRENCY,
  DOCUMENT_READ_QUEUE_MAX,
  RETRY_AFTER_SECONDS,
} from '../core/limits.ts';
import {
  DOCUMENT_HEAP_MB,
  DOCUMENT_READ_MS_MAX,
  DOCUMENT_RESIDENT_BYTES_MAX,
  DOCUMENT_TEXT_BYTES_MAX,
  REUSED_READER_DOCUMENT_BYTES_MAX,
  REUSED_READER_DOCUMENTS_MAX,
  REUSED_READER_IDLE_MS,
} from './limits.ts';
import { createTenantKey } from '../core/tenant-key.ts';
import { raceWithAbort } from '../lib/race-with-abort.ts';
import { createSharedSemaphore } from '../lib/shared-semaphore.ts';
import { detectKind } from './detect-kind.ts';
import { WALL_CLOCK_FACTOR, describeExcessiveSize, type ExtractionResult, type ExtractionLimits } from './document.ts';
import { type DocumentReader, type DocumentBytes, type ReaderOutcome } from './document-reader.ts';
import { createReaderPool, type ReaderPool } from './reader-pool.ts';

export interface ExtractionRequest {
  /** Tenant that the extraction works for. No tenant takes all processes. */
  readonly tenant: Tenant;
  readonly name: string;
  /** Exact size of the source. */
  readonly sizeBytes: number;
  readonly signal: AbortSignal;
}

export interface DocumentExtractor {
  /**
   * Extracts the text of a document in a separate process. Problems of the document, including too much time or memory,
   * are results.
   * @throws the signal's reason; any error of the source; ServiceError `overloaded` if too many extractions wait; Error
   * if the process fails for an unknown reason, so that a retry may succeed.
   */
  (source: DocumentBytes, request: ExtractionRequest): Promise<ExtractionResult>;
}

const DEFAULT_LIMITS: ExtractionLimits = {
  sourceBytesMax: DOCUMENT_BYTES_MAX,
  textBytesMax: DOCUMENT_TEXT_BYTES_MAX,
  cpuMsMax: DOCUMENT_READ_MS_MAX,
  heapMb: DOCUMENT_HEAP_MB,
  residentBytesMax: DOCUMENT_RESIDENT_BYTES_MAX,
};

/** Chosen: ms added to the wall-clock limit for the start and the report of the process. Beyond: it is killed. */
const START_AND_REPORT_MS = 30_000;

export interface DocumentExtractorOptions {
  readonly limits?: Partial<ExtractionLimits>;
  readonly concurrency?: number;
  readonly queueLengthMax?: number;
  /** Documents that a process reads before it is replaced. */
  readonly documentsPerProcess?: number;
  /** Time in ms that an idle process is kept. */
  readonly idleMs?: number;
}

export function createDocumentExtractor({
  limits: limitOverrides = {},
  concurrency = DOCUMENT_READ_CONCURRENCY,
  queueLengthMax = DOCUMENT_READ_QUEUE_MAX,
  documentsPerProcess = REUSED_READER_DOCUMENTS_MAX,
  idleMs = REUSED_READER_IDLE_MS,
}: DocumentExtractorOptions = {}): DocumentExtractor {
  const limits = { ...DEFAULT_LIMITS, ...limitOverrides };
  const semaphore = createSharedSemaphore({
    permits: concurrency,
    permitsPerHolder: Math.max(1, concurrency - 1),
    queueLengthMax,
    createQueueFullError,
  });
  const pool = createReaderPool({ processesMax: concurrency, documentsPerProcess, idleMs });
  return async (source, request) => {
    request.signal.throwIfAborted();
    if (request.sizeBytes > limits.sourceBytesMax) {
      const reason = describeExcessiveSize(request.sizeBytes, limits.sourceBytesMax);
      return { type: 'failed', reason };
    }
    if (request.sizeBytes === 0) return { type: 'failed', reason: 'The file is empty.' };
    const release = await semaphore.acquire(createTenantKey(request.tenant), request.signal);
    try {
      // The caller may have left while waiting.
      request.signal.throwIfAborted();
      const { document, rest } = await bufferSimpleDocument(source, request);
      return document
        ? await readInPool(document, request, { pool, limits })
        : await readAlone(rest, request, { pool, limits });
    } finally {
      release();
    }
  };
}

/** Kinds that a process reads after others: Parley's own code reads them, with a parser that keeps no state. */
const SIMPLE_KINDS: ReadonlySet<string> = new Set(['text', 'markdown', 'csv', 'json', 'html']);

/** Leading bytes by which `detectKind` recognizes a simple kind. */
const HEAD_BYTES = 1_024;

/** Reads a small document of a simple kind into memory. Returns the whole source as `rest` for any other document. */
async function bufferSimpleDocument(
  source: DocumentBytes,
  { name, sizeBytes, signal }: ExtractionRequest,
): Promise<{ readonly document?: Uint8Array; readonly rest: DocumentBytes }> {
  if (sizeBytes > REUSED_READER_DOCUMENT_BYTES_MAX) return { rest: source };
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  const iterator = iterate(source);
  /** Reads at least `bytesWanted` bytes if the source has so many, and one more piece if it has too many. */
  const readUpTo = async (bytesWanted: number): Promise<void> => {
    while (bytes < bytesWanted) {
      const { done, value } = await raceWithAbort(iterator.next(), signal);
      if (done === true) return;
      pieces.push(value);
      bytes += value.length;
    }
  };
  await readUpTo(Math.min(HEAD_BYTES, sizeBytes));
  if (!isSimple(Buffer.concat(pieces), name)) return { rest: joinSources(pieces, iterator) };
  await readUpTo(sizeBytes + 1);
  if (bytes !== sizeBytes)
    throw new Error(`the document has ${bytes < sizeBytes ? 'fewer' : 'more'} bytes than announced`);
  return { document: Buffer.concat(pieces), rest: joinSources(pieces, iterator) };
}

async function* iterate(source: DocumentBytes): AsyncGenerator<Uint8Array> {
  yield* source;
}

/** Returns false also for unsupported and mislabeled files: the process reports those. */
function isSimple(head: Uint8Array, name: string): boolean {
  try {
    return SIMPLE_KINDS.has(detectKind(head, name));
  } catch {
    return false;
  }
}

async function* joinSources(
  pieces: readonly Uint8Array[],
  others: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* pieces;
  yield* others;
}

interface PoolOptions {
  readonly pool: ReaderPool;
  readonly limits: ExtractionLimits;
}

/**
 * Reads a document in a process that may have read others before. Where that process fails other than by the limit of time, the document
 * is read again in a process of its own, because the others may be the reason.
 */
async function readInPool(
  document: Uint8Array,
  request: ExtractionRequest,
  { pool, limits }: PoolOptions,
): Promise<ExtractionResult> {
  const reader = await pool.take(createTenantKey(request.tenant));
  const isFirst = reader.getDocumentCount() === 0;
  let isReusable = false;
  try {
    const outcome = await readWithLimits(reader, { source: [document], request, limits });
    if (typeof outcome !== 'string' && (outcome.end === undefined || outcome.end === 'time' || isFirst)) {
      isReusable = outcome.result.type === 'text';
      return outcome.result;
    }
    if (typeof outcome === 'string' && isFirst) throw createEndedError(reader, outcome);
  } finally {
    if (isReusable) await pool.release(createTenantKey(request.tenant), reader);
    else await pool.end(reader);
  }
  return await readAlone([document], request, { pool, limits });
}

/** Reads a document in a process of its own. */
async function readAlone(
  source: DocumentBytes,
  request: ExtractionRequest,
  { pool, limits }: PoolOptions,
): Promise<ExtractionResult> {
  const reader = await pool.start({ freezesBuiltIns: false });
  try {
    const outcome = await readWithLimits(reader, { source, request, limits });
    if (typeof outcome === 'string') throw createEndedError(reader, outcome);
    return outcome.result;
  } finally {
    await pool.end(reader);
  }
}

interface ReadOptions {
  readonly source: DocumentBytes;
  readonly request: ExtractionRequest;
  readonly limits: ExtractionLimits;
}

/** @returns the outcome, or how the process ended without one. @throws the signal's reason; any error of the source. */
async function readWithLimits(
  reader: DocumentReader,
  { source, request: { name, sizeBytes, signal }, limits }: ReadOptions,
): Promise<ReaderOutcome | string> {
  let isTimedOut = false;
  const timer = setTimeout(
    () => {
      isTimedOut = true;
      reader.kill();
    },
    limits.cpuMsMax * WALL_CLOCK_FACTOR + START_AND_REPORT_MS,
  );
  signal.addEventListener('abort', reader.kill, { once: true });
  try {
    const outcome = await reader.read(source, { name, sizeBytes, limits });
    if (typeof outcome !== 'string') return outcome;
    signal.throwIfAborted();
    if (!isTimedOut) return outcome;
    const reason = `The file takes longer than ${limits.cpuMsMax} ms to read.`;
    return { result: { type: 'failed', reason }, end: 'time' };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', reader.kill);
  }
}

const createEndedError = (reader: DocumentReader, ending: string): Error =>
  new Error(`the document extraction process ended without a report: ${ending} ${reader.getStderr()}`);

const createQueueFullError = (): ServiceError =>
  new ServiceError('overloaded', 'Too many documents are waiting for text extraction. Please try again later.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
