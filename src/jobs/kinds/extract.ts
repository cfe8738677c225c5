import type { BlobStore } from '../../blobs/blob-store.ts';
import type { Ids } from '../../core/id.ts';
import { DOCUMENTS_AT_ONCE } from '../../core/limits.ts';
import type { Extract } from '../../documents/extract.ts';
import type { Clock } from '../../lib/clock.ts';
import { TEXT_BLOB_PREFIX } from '../../resources/files/remove.ts';
import type { Store } from '../../store/store.ts';
import type { JobHandler } from '../handler.ts';

export interface ExtractNeeds {
  readonly store: Pick<Store, 'files' | 'texts'>;
  readonly blobs: BlobStore;
  readonly extract: Extract;
  readonly ids: Ids;
  readonly clock: Clock;
}

/**
 * Reads the text out of a file. The text is a blob of its own, whose name is written down before it: whatever breaks off,
 * somebody knows what to remove. Two that work at once write two, and only one of them is waited for.
 */
export function extractJob({ store, blobs, extract, ids, clock }: ExtractNeeds): JobHandler {
  const fail = async (id: string, reason: string): Promise<void> => {
    const file = await store.files.findAnywhere(id);
    if (file) await store.texts.fail(file.blob, { reason, at: clock.now() });
  };

  return {
    atOnce: DOCUMENTS_AT_ONCE,

    async run({ job, signal }) {
      const file = await store.files.findAnywhere(job.subject);
      if (!file) return { type: 'done' };
      const textBlob = ids.sortable(TEXT_BLOB_PREFIX);
      const begun = await store.texts.begin(file.blob, { textBlob, at: clock.now() });
      if (!begun) return { type: 'done' };
      if (begun.earlier !== undefined) await blobs.delete(begun.earlier);

      const { name, sizeBytes } = file;
      const source = await blobs.read(file.blob);
      const found = await extract(source, { name, sizeBytes, signal }).finally(() => source.destroy());
      if (found.type === 'failed') {
        await store.texts.fail(file.blob, { reason: found.reason, at: clock.now() });
        return { type: 'done' };
      }
      const { kind, chars, text } = found;
      await blobs.put(textBlob, pieces(text), { signal });
      const isKept = await store.texts.parse(file.blob, { textBlob, kind, chars, bytes: text.length, at: clock.now() });
      if (!isKept) await blobs.delete(textBlob);
      return { type: 'done' };
    },

    giveUp: (job) =>
      fail(job.subject, 'The file could not be read, for a reason that is not its own. Please send it again.'),
    cancel: (job) => fail(job.subject, 'The file was not read: the operator of the service has cancelled that.'),
  };
}

/** Bytes that are handed over at once. */
const PIECE_BYTES = 256 * 1024;

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}
