import type { Tenant } from '../../core/context.ts';
import { createHash, type Hash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { ServiceError } from '../../core/error.ts';
import { DOCUMENT_BYTES_MAX } from '../../core/limits.ts';
import type { ReadPage } from '../../core/server-tools.ts';
import { getDocumentMetadata } from './document-metadata.ts';
import { INDEX_FORMAT } from './index-passages.ts';
import type { DocumentExtractor } from '../../documents/document-extractor.ts';
import { describeExcessiveSize } from '../../documents/document.ts';

/** A document of a source. */
export type IndexEntry =
  | { readonly type: 'file'; readonly reference: string; readonly path: string }
  | { readonly type: 'url'; readonly reference: string };

export type ReadEntryResult =
  | { readonly type: 'unchanged' }
  /** The document exists but cannot be read: its old content is removed from the index. */
  | { readonly type: 'unreadable'; readonly reason: string }
  /** The document could not be checked: its old content stays in the index. */
  | { readonly type: 'unavailable'; readonly reason: string }
  | {
      readonly type: 'read';
      readonly hash: string;
      readonly bytes: number;
      readonly text: string;
      readonly title: string;
      readonly publishedAt: number | undefined;
      /** Set for a page, absent for a file. */
      readonly page?: { readonly url: string; readonly siteName: string; readonly icon: string };
    };

export interface ReadEntryOptions {
  readonly extract: DocumentExtractor;
  /** Without it, URLs are not read. */
  readonly readPage?: ReadPage | undefined;
  readonly now: () => number;
  readonly tenant: Tenant;
  readonly signal: AbortSignal;
}

/** Bytes at the start of a file that are searched for metadata. */
const HEAD_BYTES = 16_384;

const CHUNK_BYTES = 64 * 1024;

/** Creates the hash of a document's source content. */
const createContentHash = (): Hash => createHash('sha256').update(`parley-index ${INDEX_FORMAT}\n`);

/** @param knownHash Hash from the last read. @throws the signal's reason; ServiceError that ends the whole refresh. */
export async function readEntry(
  entry: IndexEntry,
  knownHash: string | undefined,
  options: ReadEntryOptions,
): Promise<ReadEntryResult> {
  options.signal.throwIfAborted();
  try {
    return await (entry.type === 'url'
      ? readUrl(entry.reference, knownHash, options)
      : readFileEntry(entry, knownHash, options));
  } catch (error) {
    options.signal.throwIfAborted();
    if (error instanceof ServiceError) {
      if (error.kind === 'not-found') return { type: 'unreadable', reason: error.message };
      return { type: 'unavailable', reason: error.message };
    }
    // A system error may contain a local path, which the operator may see.
    return { type: 'unavailable', reason: error instanceof Error ? error.message : String(error) };
  }
}

async function readUrl(
  url: string,
  knownHash: string | undefined,
  options: ReadEntryOptions,
): Promise<ReadEntryResult> {
  const { readPage, tenant, signal } = options;
  if (!readPage) return { type: 'unavailable', reason: 'URLs cannot be read: no page reader is configured.' };
  const page = await readPage({ url, tenant }, signal);
  const hash = createContentHash()
    .update(JSON.stringify([page.url, page.title, page.passage]))
    .digest('hex');
  if (hash === knownHash) return { type: 'unchanged' };
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
  knownHash: string | undefined,
  { extract, now, tenant, signal }: ReadEntryOptions,
): Promise<ReadEntryResult> {
  // Do not follow a symbolic link that has replaced the file, and do not wait for the writer of a named pipe.
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) return { type: 'unreadable', reason: 'It is no longer a file.' };
    if (stats.size > DOCUMENT_BYTES_MAX)
      return {
        type: 'unreadable',
        reason: describeExcessiveSize(stats.size, DOCUMENT_BYTES_MAX),
      };
    const { hash, head } = await hashFile(handle, signal);
    if (hash === knownHash) return { type: 'unchanged' };
    const extracted = await extract(readChunks(handle, signal), {
      tenant,
      name: basename(path),
      sizeBytes: stats.size,
      signal,
    });
    if (extracted.type === 'failed') return { type: 'unreadable', reason: extracted.reason };
    const text = Buffer.from(extracted.text.buffer, extracted.text.byteOffset, extracted.text.byteLength).toString(
      'utf8',
    );
    const metadata = getDocumentMetadata(
      { kind: extracted.kind, text, head, reference, changedAt: stats.mtimeMs },
      now(),
    );
    return { type: 'read', hash, bytes: stats.size, text, ...metadata };
  } finally {
    await handle.close();
  }
}

async function hashFile(handle: FileHandle, signal: AbortSignal): Promise<{ hash: string; head: Uint8Array }> {
  const hash = createContentHash();
  const heads: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of readChunks(handle, signal)) {
    hash.update(chunk);
    if (bytes < HEAD_BYTES) heads.push(chunk.subarray(0, HEAD_BYTES - bytes));
    bytes += chunk.length;
  }
  return { hash: hash.digest('hex'), head: Buffer.concat(heads) };
}

/** Reads the file from its start. */
async function* readChunks(handle: FileHandle, signal: AbortSignal): AsyncGenerator<Buffer> {
  for (let position = 0; ;) {
    signal.throwIfAborted();
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
