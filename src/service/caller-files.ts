import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../core/error.ts';
import { CODE_INPUTS_BYTES_MAX, CODE_INPUTS_MAX } from '../core/limits.ts';
import type { StoreFile, OpenCallerFiles } from '../generation/server-tools/code-session.ts';
import { CODE_OUTPUT_PURPOSE, type Files } from '../resources/files/file.ts';
import type { SignedLinks } from '../resources/files/signed-links.ts';

export interface CallerFiles {
  readonly openCallerFiles: OpenCallerFiles;
  readonly storeFile: StoreFile;
}

export interface CallerFilesDeps {
  readonly files: Pick<Files, 'find' | 'read' | 'receive' | 'commit' | 'discard'>;
  readonly links: Pick<SignedLinks, 'createLink'>;
  /** Folder for the copies that programs read. The copies of one request are deleted when it ends. */
  readonly folder: string;
}

/** Moves files of a caller between the file store and programs: copies inputs out, and stores files that programs wrote. */
export function createCallerFiles({ files, links, folder }: CallerFilesDeps): CallerFiles {
  return {
    async openCallerFiles(ids, owner) {
      if (ids.length > CODE_INPUTS_MAX) {
        const message = `file_ids may name at most ${CODE_INPUTS_MAX} files; the request names ${ids.length}.`;
        throw new ServiceError('invalid-request', message, { param: 'file_ids' });
      }
      const records = await Promise.all(ids.map((id) => files.find(owner, id)));
      const sizeBytes = records.reduce((sum, record) => sum + record.sizeBytes, 0);
      if (sizeBytes > CODE_INPUTS_BYTES_MAX) {
        const message = `The files of file_ids may have at most ${CODE_INPUTS_BYTES_MAX} bytes together; these have ${sizeBytes}.`;
        throw new ServiceError('too-large', message, { param: 'file_ids' });
      }
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const copyFolder = await mkdtemp(join(folder, 'answer-'));
      const release = (): void => void rm(copyFolder, { recursive: true, force: true }).catch(() => undefined);
      try {
        const copies = records.map((record, index) => ({
          record,
          name: record.name,
          path: join(copyFolder, String(index)),
        }));
        for (const { record, path } of copies)
          await pipeline(await files.read(record), createWriteStream(path, { mode: 0o600 }));
        return { files: copies.map(({ name, path }) => ({ name, path })), release };
      } catch (error) {
        release();
        throw error;
      }
    },

    async storeFile({ name, bytes }, owner) {
      const received = await files.receive(owner, oneChunk(bytes));
      try {
        const draft = { name, description: '', purpose: CODE_OUTPUT_PURPOSE };
        const [record] = await files.commit(owner, [{ received, draft }]);
        if (!record)
          throw new ServiceError('internal', 'The file store returned no record for a file that it had received.');
        return {
          fileId: record.id,
          url: links.createLink({ id: record.id, region: owner.region, keyId: owner.keyId }),
        };
      } catch (error) {
        await files.discard(owner, [received]);
        throw error;
      }
    },
  };
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
