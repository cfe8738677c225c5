import { text as readText } from 'node:stream/consumers';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { isFileDamaged, ServiceError } from '../../core/error.ts';
import type { FindDocument } from '../../core/document.ts';
import type { FileRecord } from '../../store/files.ts';
import type { Store } from '../../store/store.ts';
import type { FileTextRecord } from '../../store/file-texts.ts';
import { EXTRACT_PURPOSE } from '../files/file.ts';

/** Texts that were extracted from files. */
export interface Texts {
  /** Returns the extraction state of each file whose purpose needs extraction, by file id. */
  findStates(files: readonly FileRecord[]): Promise<ReadonlyMap<string, FileTextRecord>>;
  readonly findDocument: FindDocument;
}

export interface TextsDeps {
  readonly store: Pick<Store, 'files' | 'texts'>;
  readonly blobs: Pick<BlobStore, 'read'>;
}

export function createTexts({ store, blobs }: TextsDeps): Texts {
  return {
    async findStates(files) {
      const extracted = files.filter(({ purpose }) => purpose === EXTRACT_PURPOSE);
      const states = await store.texts.find(extracted.map(({ blob }) => blob));
      return new Map(
        extracted.flatMap(({ id, blob }) => {
          const state = states.get(blob);
          return state ? [[id, state] as const] : [];
        }),
      );
    },

    async findDocument(owner, id) {
      const file = await store.files.find(owner, id);
      if (!file) return { type: 'refused', message: `Invalid file [id:${id}].` };
      const { name, purpose, blob } = file;
      if (purpose !== EXTRACT_PURPOSE) {
        const message = `Invalid file [id:${id}]: its purpose is ${purpose}, and only the text of files for ${EXTRACT_PURPOSE} is read.`;
        return { type: 'refused', message };
      }
      const text = (await store.texts.find([blob])).get(blob);
      if (text?.state === 'failed')
        return { type: 'refused', message: `File [id:${id}] cannot be used. ${text.reason}` };
      if (text?.state !== 'parsed') return { type: 'waiting' };
      const { chars, bytes, textBlob } = text;
      return { type: 'ready', name, chars, bytes, read: () => readDocument(blobs, textBlob, id) };
    },
  };
}

/** @throws ServiceError `file-damaged` that names the file. */
async function readDocument(blobs: Pick<BlobStore, 'read'>, textBlob: string, id: string): Promise<string> {
  try {
    return await readText(await blobs.read(textBlob));
  } catch (thrown) {
    if (!isFileDamaged(thrown)) throw thrown;
    const message = `The stored text of file [id:${id}] is damaged or lost. Upload the file again.`;
    throw new ServiceError('file-damaged', message, { cause: thrown });
  }
}
