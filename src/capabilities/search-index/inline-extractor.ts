import { buffer } from 'node:stream/consumers';
import { detectKind } from '../../documents/detect-kind.ts';
import type { DocumentExtractor } from '../../documents/document-extractor.ts';
import { DOCUMENT_TEXT_BYTES_MAX } from '../../documents/limits.ts';
import { QUICK_DOCUMENT_BYTES_MAX } from './limits.ts';
import { readDocument } from '../../documents/read-document.ts';

/** Names of plain text formats, which only need decoding. */
const PLAIN_TEXT_NAME = /\.(?:md|markdown|txt|text|rst|adoc|org|tex|csv|tsv)$/i;

/** Extracts small plain texts in this process, which needs no library; passes all other documents to `extract`. */
export const createInlineExtractor =
  (extract: DocumentExtractor): DocumentExtractor =>
  async (source, request) => {
    if (!PLAIN_TEXT_NAME.test(request.name) || request.sizeBytes > QUICK_DOCUMENT_BYTES_MAX)
      return await extract(source, request);
    const bytes = await buffer(source);
    request.signal.throwIfAborted();
    return isPlainTextDocument(bytes, request.name)
      ? await readDocument(bytes, { name: request.name, textBytesMax: DOCUMENT_TEXT_BYTES_MAX })
      : await extract(yieldOnce(bytes), { ...request, sizeBytes: bytes.length });
  };

/** Returns false also for unsupported and mislabeled files: `extract` reports those. */
function isPlainTextDocument(bytes: Uint8Array, name: string): boolean {
  try {
    const kind = detectKind(bytes, name);
    return kind === 'text' || kind === 'markdown' || kind === 'csv';
  } catch {
    return false;
  }
}

async function* yieldOnce(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
