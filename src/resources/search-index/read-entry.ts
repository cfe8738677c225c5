import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { ServiceError } from '../../core/error.ts';
import { DOCUMENT_BYTES_MAX } from '../../core/limits.ts';
import type { ReadPage } from '../../core/server-tools.ts';
import { createContentHash } from './content-hash.ts';
import { factsOf } from './document-facts.ts';
import type { ExtractText } from './search-index.ts';

/** One document of a source. */
export type IndexEntry =
  | { readonly type: 'file'; readonly reference: string; readonly path: string }
  | { readonly type: 'url'; readonly reference: string };

export type ReadEntry =
  | { readonly type: 'unchanged' }
  /** It is there and cannot be read: what was known of it is not true any more. */
  | { readonly type: 'unreadable'; readonly reason: string }
  /** It could not be looked at: what was known of it stays. */
  | { readonly type: 'unreached'; readonly reason: string }
  | {
      readonly type: 'read';
      readonly hash: string;
      readonly bytes: number;
      readonly text: string;
      readonly title: string;
      readonly publishedAt: number | undefined;
      /** Of a page; absent for a file. */
      readonly page?: { readonly url: string; readonly siteName: string; readonly icon: string };
    };

export interface ReadEntryNeeds {
  readonly extract: ExtractText;
  /** Absent: addresses are not read. */
  readonly readPage?: ReadPage | undefined;
  readonly now: () => number;
  readonly workspace: string;
  readonly signal: AbortSignal;
}

/** Bytes of a file at its beginning that are looked at for what it says of itself. */
const HEAD_BYTES = 16_384;

const PIECE_BYTES = 64 * 1024;

/** @param known Its hash when it was last read. @throws the signal's reason; ServiceError that ends the whole refresh. */
export async function readEntry(
  entry: IndexEntry,
  known: string | undefined,
  needs: ReadEntryNeeds,
): Promise<ReadEntry> {
  needs.signal.throwIfAborted();
  try {
    return await (entry.type === 'url' ? readUrl(entry.reference, known, needs) : readFileEntry(entry, known, needs));
  } catch (error) {
    needs.signal.throwIfAborted();
    if (error instanceof ServiceError) {
      if (error.kind === 'not-found') return { type: 'unreadable', reason: error.message };
      return { type: 'unreached', reason: error.message };
    }
    // A reason of the system's names a path of this machine, which is the operator's own.
    return { type: 'unreached', reason: error instanceof Error ? error.message : String(error) };
  }
}

async function readUrl(url: string, known: string | undefined, needs: ReadEntryNeeds): Promise<ReadEntry> {
  const { readPage, workspace, signal } = needs;
  if (!readPage) return { type: 'unreached', reason: 'Addresses cannot be read here.' };
  const page = await readPage({ url, workspace }, signal);
  const hash = createContentHash()
    .update(JSON.stringify([page.url, page.title, page.passage]))
    .digest('hex');
  if (hash === known) return { type: 'unchanged' };
  return {
    type: 'read',
    hash,
    bytes: Buffer.byteLength(page.passage),
    text: page.passage,
    title: page.title,
    publishedAt: page.publishedAt,
    page: { url: page.url, siteName: page.siteName, icon: page.icon },
  };
}

async function readFileEntry(
  { reference, path }: IndexEntry & { readonly type: 'file' },
  known: string | undefined,
  { extract, now, signal }: ReadEntryNeeds,
): Promise<ReadEntry> {
  // Without following a link: it was a file when the folder was gone through. Without waiting for who writes a pipe.
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) return { type: 'unreadable', reason: 'It is not a file any more.' };
    if (stats.size > DOCUMENT_BYTES_MAX)
      return {
        type: 'unreadable',
        reason: `The file has ${stats.size} bytes; one of which the text is read may have ${DOCUMENT_BYTES_MAX}.`,
      };
    const { hash, head } = await lookAt(handle, signal);
    if (hash === known) return { type: 'unchanged' };
    const extracted = await extract(piecesOf(handle, signal), { name: basename(path), sizeBytes: stats.size, signal });
    if (extracted.type === 'failed') return { type: 'unreadable', reason: extracted.reason };
    const text = Buffer.from(extracted.text.buffer, extracted.text.byteOffset, extracted.text.byteLength).toString(
      'utf8',
    );
    const facts = factsOf({ kind: extracted.kind, text, head, reference, changedAt: stats.mtimeMs }, now());
    return { type: 'read', hash, bytes: stats.size, text, ...facts };
  } finally {
    await handle.close();
  }
}

async function lookAt(handle: FileHandle, signal: AbortSignal): Promise<{ hash: string; head: Uint8Array }> {
  const hash = createContentHash();
  const heads: Buffer[] = [];
  let bytes = 0;
  for await (const piece of piecesOf(handle, signal)) {
    hash.update(piece);
    if (bytes < HEAD_BYTES) heads.push(piece.subarray(0, HEAD_BYTES - bytes));
    bytes += piece.length;
  }
  return { hash: hash.digest('hex'), head: Buffer.concat(heads) };
}

/** From the beginning, as often as it is asked for. */
async function* piecesOf(handle: FileHandle, signal: AbortSignal): AsyncGenerator<Buffer> {
  for (let position = 0; ;) {
    signal.throwIfAborted();
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(PIECE_BYTES), 0, PIECE_BYTES, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
