import { collectText } from './collect-text.ts';
import { detectKind } from './detect-kind.ts';
import type { DocumentExtractor } from './document-extractor.ts';
import { readPlainText } from './formats/plain.ts';
import { DOCUMENT_TEXT_BYTES_MAX, INLINE_DOCUMENT_BYTES_MAX } from './limits.ts';

/** Kinds that only need decoding, by code of Parley alone. */
const PLAIN_KINDS = ['text', 'markdown', 'csv', 'json'] as const;

/**
 * Extracts small plain texts in this process, because the start of another one takes longer than the time for which an
 * upload waits; passes all other documents to `extract`.
 */
export const createInlineExtractor =
  (extract: DocumentExtractor): DocumentExtractor =>
  async (source, request) => {
    if (request.sizeBytes > INLINE_DOCUMENT_BYTES_MAX) return await extract(source, request);
    request.signal.throwIfAborted();
    const bytes = Buffer.concat(await Array.fromAsync(source));
    request.signal.throwIfAborted();
    const kind = detectPlainKind(bytes, request.name);
    if (kind === undefined || bytes.length !== request.sizeBytes) return await extract([bytes], request);
    return await collectText(DOCUMENT_TEXT_BYTES_MAX, (sink) => {
      readPlainText(bytes, sink);
      return kind;
    });
  };

/** Returns undefined also for unsupported and mislabeled files: `extract` reports those. */
function detectPlainKind(bytes: Uint8Array, name: string): (typeof PLAIN_KINDS)[number] | undefined {
  try {
    const detected = detectKind(bytes, name);
    return PLAIN_KINDS.find((kind) => kind === detected);
  } catch {
    return undefined;
  }
}
