import { startRestrictedProcess, writeToStdin, type RestrictedProcess } from '../lib/restricted-process.ts';
import type { DocumentKind, ExtractionResult } from './document.ts';
import type { ReaderCommand, ReaderEnd, ReaderReport } from './reader-process.ts';

/** Result of a document. `end`: why the process ends. */
export interface ReaderOutcome {
  readonly result: ExtractionResult;
  readonly end: ReaderEnd | undefined;
}

/** A process that reads documents one after the other. */
export interface DocumentReader extends Pick<
  RestrictedProcess,
  'termination' | 'getStderr' | 'kill' | 'setReferenced'
> {
  /** Number of documents that were sent to it. */
  getDocumentCount(): number;
  hasEnded(): boolean;
  /**
   * Sends a document and waits for its result, but no longer than the process runs: then the result is the text of its
   * `termination`. The caller kills the process after any error.
   * @throws any error of the source; Error if the source has another length than announced.
   */
  read(source: DocumentBytes, command: ReaderCommand): Promise<ReaderOutcome | string>;
}

/** The bytes of a document in pieces. */
export type DocumentBytes = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Limit of the report line before the text. */
const REPORT_LINE_BYTES_MAX = 64 * 1024;

/** Starts a process that reads documents. */
export function startDocumentReader(options: { readonly freezesBuiltIns: boolean }): DocumentReader {
  const started = startRestrictedProcess({
    entryUrl: new URL('./reader-process', import.meta.url),
    packages: ['unpdf', 'htmlparser2'],
    ...options,
  });
  const { child, termination, kill } = started;
  let documentCount = 0;
  let onPiece: ((piece: Buffer) => void) | undefined;
  // A process that reports without a document has been compromised.
  child.stdout?.on('data', (piece: Buffer) => (onPiece ? onPiece(piece) : kill()));

  /** Resolves with the complete result. Never settles if the process ends before. */
  const receiveOutcome = (textBytesMax: number): Promise<ReaderOutcome> =>
    new Promise((resolve) => {
      const collector = createReportCollector(textBytesMax);
      onPiece = (piece) => {
        const outcome = collector.add(piece);
        if (outcome === 'invalid') return kill();
        if (outcome === undefined) return;
        onPiece = undefined;
        resolve(outcome);
      };
    });

  return {
    ...started,
    getDocumentCount: () => documentCount,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null || child.stdin?.destroyed !== false,
    async read(source, command) {
      documentCount++;
      const outcome = receiveOutcome(command.limits.textBytesMax);
      await Promise.race([sendDocument(started, command, source), outcome, termination]);
      return await Promise.race([outcome, termination]);
    },
  };
}

/** Leaves standard input open: it closes when this process ends, and the reader then exits. */
async function sendDocument(
  { child }: RestrictedProcess,
  command: ReaderCommand,
  source: DocumentBytes,
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

/** Collects a report and the text that follows it. The result of `add` is undefined while bytes are missing. */
function createReportCollector(textBytesMax: number): { add(piece: Buffer): ReaderOutcome | 'invalid' | undefined } {
  const pieces: Buffer[] = [];
  let bytes = 0;
  let report: ReaderReport | undefined;
  let textAt = 0;
  return {
    add(piece) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes > textBytesMax + REPORT_LINE_BYTES_MAX) return 'invalid';
      if (!report) {
        if (!piece.includes(0x0a)) return undefined;
        const received = Buffer.concat(pieces);
        textAt = received.indexOf(0x0a) + 1;
        report = parseReport(received.toString('utf8', 0, textAt));
      }
      if (!report) return 'invalid';
      if (report.type === 'failed')
        return { result: { type: 'failed', reason: report.reason.slice(0, 500) }, end: report.end };
      if (bytes < textAt + report.bytes) return undefined;
      const text = Buffer.concat(pieces).subarray(textAt, textAt + report.bytes);
      return {
        result: { type: 'text', kind: report.kind as DocumentKind, text, chars: report.chars },
        end: undefined,
      };
    },
  };
}

/** Parses a line of Parley's code, which a document may have compromised. Returns undefined for any other line. */
function parseReport(line: string): ReaderReport | undefined {
  try {
    const value = JSON.parse(line) as Partial<Record<string, unknown>> | null;
    const { type, kind, chars, bytes, reason, end } = value ?? {};
    if (type === 'failed' && typeof reason === 'string')
      return { type, reason, end: READER_ENDS.find((each) => each === end) };
    if (type !== 'text' || typeof kind !== 'string') return undefined;
    return isCount(chars) && isCount(bytes) ? { type, kind, chars, bytes } : undefined;
  } catch {
    return undefined;
  }
}

const READER_ENDS: readonly ReaderEnd[] = ['time', 'memory', 'error'];

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
