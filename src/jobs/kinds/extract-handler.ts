import type { BlobStore } from '../../blobs/blob-store.ts';
import { isFileDamaged } from '../../core/error.ts';
import type { IdGenerator } from '../../core/id.ts';
import type { JobRecord } from '../../core/job.ts';
import { DOCUMENT_READ_CONCURRENCY } from '../../core/limits.ts';
import type { DocumentExtractor } from '../../documents/document-extractor.ts';
import type { Clock } from '../../lib/clock.ts';
import { TEXT_BLOB_PREFIX } from '../../resources/files/remove.ts';
import type { Store } from '../../store/store.ts';
import type { JobHandler } from '../handler.ts';

export interface ExtractHandlerDeps {
  readonly store: Pick<Store, 'files' | 'texts'>;
  readonly blobs: BlobStore;
  readonly extract: DocumentExtractor;
  readonly ids: IdGenerator;
  readonly clock: Clock;
  /** Called when the extraction of a file has ended, with or without a text. */
  readonly onEnd?: (fileId: string) => void;
}

/**
 * Extracts the text of a file into a separate blob. The blob's name is recorded before the blob is written, so that
 * cleanup finds an unfinished blob. Concurrent attempts write separate blobs, and only the last recorded one is
 * accepted.
 */
export function createExtractHandler({
  store,
  blobs,
  extract,
  ids,
  clock,
  onEnd = () => undefined,
}: ExtractHandlerDeps): JobHandler {
  const fail = async (id: string, reason: string): Promise<void> => {
    const file = await store.files.findInAnyTenant(id);
    if (file) await store.texts.failParsing(file.blob, { reason, at: clock.now() });
  };

  const extractText = async (job: JobRecord, signal: AbortSignal): Promise<void> => {
    const file = await store.files.findInAnyTenant(job.subject);
    if (!file) return;
    const textBlob = ids.createSortableId(TEXT_BLOB_PREFIX);
    const started = await store.texts.startParsing(file.blob, { textBlob, at: clock.now() });
    if (!started) return;
    if (started.previousTextBlob !== undefined) await blobs.delete(started.previousTextBlob);

    const { name, sizeBytes } = file;
    const source = await blobs.read(file.blob);
    const { region, workspace } = job.owner;
    const extracted = await extract(source, { tenant: { region, workspace }, name, sizeBytes, signal }).finally(() =>
      source.destroy(),
    );
    if (extracted.type === 'failed') {
      await store.texts.failParsing(file.blob, { reason: extracted.reason, at: clock.now() });
      onEnd(job.subject);
      return;
    }
    const { kind, chars, text } = extracted;
    await blobs.put(textBlob, splitIntoPieces(text), { signal });
    const isStored = await store.texts.completeParsing(file.blob, {
      textBlob,
      kind,
      chars,
      bytes: text.length,
      at: clock.now(),
    });
    if (!isStored) await blobs.delete(textBlob);
    onEnd(job.subject);
  };

  return {
    concurrency: DOCUMENT_READ_CONCURRENCY,

    async run({ job, signal }) {
      await extractText(job, signal).catch(async (thrown: unknown) => {
        // Another attempt would find the same bytes.
        if (!isFileDamaged(thrown)) throw thrown;
        await fail(job.subject, thrown.message);
        onEnd(job.subject);
      });
      return { type: 'done' };
    },

    giveUp: (job) => fail(job.subject, 'Text extraction failed because of an internal error. Upload the file again.'),
    cancel: (job) => fail(job.subject, 'The operator cancelled the text extraction of this file.'),
  };
}

/** Bytes per write. */
const PIECE_BYTES = 256 * 1024;

async function* splitIntoPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}
