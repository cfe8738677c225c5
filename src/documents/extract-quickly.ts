import { buffer } from 'node:stream/consumers';
import { detectKind } from './detect-kind.ts';
import type { Extract } from './extract.ts';
import { DOCUMENT_TEXT_BYTES_MAX, QUICK_DOCUMENT_BYTES_MAX } from '../core/limits.ts';
import { readDocument } from './read-document.ts';

/** Names of texts that need nothing but to be decoded. */
const PLAIN = /\.(?:md|markdown|txt|text|rst|adoc|org|tex|csv|tsv)$/i;

/** Reads small plain texts at once, which takes no library and no more than their bytes; all else in a process, as `extract`. */
export const createQuickExtract =
  (extract: Extract): Extract =>
  async (source, wish) => {
    if (!PLAIN.test(wish.name) || wish.sizeBytes > QUICK_DOCUMENT_BYTES_MAX) return await extract(source, wish);
    const bytes = await buffer(source);
    wish.signal.throwIfAborted();
    return isPlain(bytes, wish.name)
      ? await readDocument(bytes, { name: wish.name, textBytesMax: DOCUMENT_TEXT_BYTES_MAX })
      : await extract(onePiece(bytes), { ...wish, sizeBytes: bytes.length });
  };

/** What is known not to be read, or is something else than its name says, is the process's to tell. */
function isPlain(bytes: Uint8Array, name: string): boolean {
  try {
    const kind = detectKind(bytes, name);
    return kind === 'text' || kind === 'markdown' || kind === 'csv';
  } catch {
    return false;
  }
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
