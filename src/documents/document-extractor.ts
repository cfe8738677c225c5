import type { ChildProcess } from 'node:child_process';
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
} from './limits.ts';
import { startRestrictedProcess, writeToStdin } from '../lib/restricted-process.ts';
import { createSharedSemaphore } from '../lib/shared-semaphore.ts';
import {
  WALL_CLOCK_FACTOR,
  describeExcessiveSize,
  type DocumentKind,
  type ExtractionResult,
  type ExtractionLimits,
} from './document.ts';
import type { ReaderCommand, ReaderReport } from './reader-process.ts';

export interface ExtractionRequest {
  /** Workspace that the extraction works for. No workspace takes all processes. */
  readonly workspace: string;
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
  (source: AsyncIterable<Uint8Array>, request: ExtractionRequest): Promise<ExtractionResult>;
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

/** Limit of the report line before the text. */
const REPORT_LINE_BYTES_MAX = 64 * 1024;

export interface DocumentExtractorOptions {
  readonly limits?: Partial<ExtractionLimits>;
  readonly concurrency?: number;
  readonly queueLengthMax?: number;
}

export function createDocumentExtractor({
  limits: limitOverrides = {},
  concurrency = DOCUMENT_READ_CONCURRENCY,
  queueLengthMax = DOCUMENT_READ_QUEUE_MAX,
}: DocumentExtractorOptions = {}): DocumentExtractor {
  const limits = { ...DEFAULT_LIMITS, ...limitOverrides };
  const semaphore = createSharedSemaphore({
    permits: concurrency,
    permitsPerHolder: Math.max(1, concurrency - 1),
    queueLengthMax,
    createQueueFullError,
  });
  return async (source, request) => {
    request.signal.throwIfAborted();
    if (request.sizeBytes > limits.sourceBytesMax) {
      const reason = describeExcessiveSize(request.sizeBytes, limits.sourceBytesMax);
      return { type: 'failed', reason };
    }
    if (request.sizeBytes === 0) return { type: 'failed', reason: 'The file is empty.' };
    const release = await semaphore.acquire(request.workspace, request.signal);
    try {
      // The caller may have left while waiting.
      request.signal.throwIfAborted();
      return await extractInProcess(source, request, limits);
    } finally {
      release();
    }
  };
}

async function extractInProcess(
  source: AsyncIterable<Uint8Array>,
  { name, sizeBytes, signal }: ExtractionRequest,
  limits: ExtractionLimits,
): Promise<ExtractionResult> {
  const { child, termination, getStderr, kill } = startRestrictedProcess({
    entryUrl: new URL('./reader-process', import.meta.url),
    packages: ['unpdf', 'htmlparser2'],
  });
  let isTimedOut = false;
  const timer = setTimeout(
    () => {
      isTimedOut = true;
      kill();
    },
    limits.cpuMsMax * WALL_CLOCK_FACTOR + START_AND_REPORT_MS,
  );
  signal.addEventListener('abort', kill, { once: true });
  try {
    const command: ReaderCommand = { name, sizeBytes, limits };
    const result = receiveResult(child, limits);
    await Promise.race([sendDocument(child, command, source), result, termination]);
    const outcome = await Promise.race([result, termination]);
    if (typeof outcome !== 'string') return outcome;
    signal.throwIfAborted();
    if (isTimedOut) return { type: 'failed', reason: `The file takes longer than ${limits.cpuMsMax} ms to read.` };
    throw new Error(`the document extraction process ended without a report: ${outcome} ${getStderr()}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
    kill();
    await termination;
  }
}

/** Leaves standard input open: it closes when this process ends, and the extraction process then exits. */
async function sendDocument(
  child: ChildProcess,
  command: ReaderCommand,
  source: AsyncIterable<Uint8Array>,
): Promise<void> {
  await writeToStdin(child, `${JSON.stringify(command)}\n`);
  let sentBytes = 0;
  for await (const piece of source) {
    sentBytes += piece.length;
    if (sentBytes > command.sizeBytes) throw new Error('the document has more bytes than announced');
    if (child.stdin?.destroyed !== false) return;
    await writeToStdin(child, piece);
  }
  if (sentBytes < command.sizeBytes) throw new Error('the document has fewer bytes than announced');
}

/** Resolves with the complete result of the process. Never settles if the process ends before. */
const receiveResult = (child: ChildProcess, { textBytesMax }: ExtractionLimits): Promise<ExtractionResult> =>
  new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    let report: ReaderReport | undefined;
    let textAt = 0;
    child.stdout?.on('data', (piece: Buffer) => {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes > textBytesMax + REPORT_LINE_BYTES_MAX) return void child.kill('SIGKILL');
      if (!report) {
        if (!piece.includes(0x0a)) return;
        const received = Buffer.concat(pieces);
        textAt = received.indexOf(0x0a) + 1;
        // Written by Parley's code, but a document may have compromised that process: the fields are checked.
        report = JSON.parse(received.toString('utf8', 0, textAt)) as ReaderReport;
      }
      if (report.type === 'failed') return resolve({ type: 'failed', reason: String(report.reason).slice(0, 500) });
      if (bytes < textAt + report.bytes) return;
      const text = Buffer.concat(pieces).subarray(textAt, textAt + report.bytes);
      resolve({ type: 'text', kind: report.kind as DocumentKind, text, chars: report.chars });
    });
  });

const createQueueFullError = (): ServiceError =>
  new ServiceError('overloaded', 'Too many documents are waiting for text extraction. Please try again later.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
