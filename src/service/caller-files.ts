import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../core/error.ts';
import { CODE_INPUTS_BYTES_MAX, CODE_INPUTS_MAX } from '../core/limits.ts';
import type { KeepFile, OpenCallerFiles } from '../generation/server-tools/code-session.ts';
import { PROGRAM_PURPOSE, type Files } from '../resources/files/file.ts';
import type { Links } from '../resources/files/links.ts';

export interface CallerFiles {
  readonly openCallerFiles: OpenCallerFiles;
  readonly keepFile: KeepFile;
}

export interface CallerFilesNeeds {
  readonly files: Pick<Files, 'find' | 'read' | 'receive' | 'keep' | 'drop'>;
  readonly links: Pick<Links, 'linkTo'>;
  /** Ours, for copies that programs read: each answer's are gone with it. */
  readonly folder: string;
}

/** Files of a caller's between the store and programs: copies to read, and what programs wrote among the caller's own. */
export function createCallerFiles({ files, links, folder }: CallerFilesNeeds): CallerFiles {
  return {
    async openCallerFiles(ids, owner) {
      if (ids.length > CODE_INPUTS_MAX) {
        const message = `A program may read ${CODE_INPUTS_MAX} files, and these are ${ids.length}.`;
        throw new ServiceError('invalid-request', message, { param: 'file_ids' });
      }
      const records = await Promise.all(ids.map((id) => files.find(owner, id)));
      const sizeBytes = records.reduce((sum, record) => sum + record.sizeBytes, 0);
      if (sizeBytes > CODE_INPUTS_BYTES_MAX) {
        const message = `Files that a program may read have at most ${CODE_INPUTS_BYTES_MAX} bytes together, and these have ${sizeBytes}.`;
        throw new ServiceError('too-large', message, { param: 'file_ids' });
      }
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const own = await mkdtemp(join(folder, 'answer-'));
      const release = (): void => void rm(own, { recursive: true, force: true }).catch(() => undefined);
      try {
        const copies = records.map((record, at) => ({ record, name: record.name, path: join(own, String(at)) }));
        for (const { record, path } of copies)
          await pipeline(await files.read(record), createWriteStream(path, { mode: 0o600 }));
        return { files: copies.map(({ name, path }) => ({ name, path })), release };
      } catch (error) {
        release();
        throw error;
      }
    },

    async keepFile({ name, bytes }, owner) {
      const received = await files.receive(owner, oneChunk(bytes));
      try {
        const draft = { name, description: '', purpose: PROGRAM_PURPOSE };
        const [record] = await files.keep(owner, [{ received, draft }]);
        if (!record) throw new ServiceError('internal', 'A file that was received was not kept.');
        return { fileId: record.id, url: links.linkTo({ id: record.id, region: owner.region }) };
      } catch (error) {
        await files.drop(owner, [received]);
        throw error;
      }
    },
  };
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
