import { text as textOf } from 'node:stream/consumers';
import type { BlobStore } from '../../blobs/blob-store.ts';
import type { FindDocument } from '../../core/document.ts';
import type { FileRecord } from '../../store/files.ts';
import type { Store } from '../../store/store.ts';
import type { TextRecord } from '../../store/texts.ts';
import { EXTRACT_PURPOSE } from '../files/file.ts';

/** What was read out of files. */
export interface Texts {
  /** Of each file whose text is read, how far that is, by the file's id. */
  statesOf(files: readonly FileRecord[]): Promise<ReadonlyMap<string, TextRecord>>;
  readonly findDocument: FindDocument;
}

export interface TextsNeeds {
  readonly store: Pick<Store, 'files' | 'texts'>;
  readonly blobs: Pick<BlobStore, 'read'>;
}

export function createTexts({ store, blobs }: TextsNeeds): Texts {
  return {
    async statesOf(files) {
      const read = files.filter(({ purpose }) => purpose === EXTRACT_PURPOSE);
      const states = await store.texts.find(read.map(({ blob }) => blob));
      return new Map(
        read.flatMap(({ id, blob }) => {
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
      return { type: 'ready', name, chars, bytes, read: async () => await textOf(await blobs.read(textBlob)) };
    },
  };
}
