import { setTimeout as pause } from 'node:timers/promises';
import type { AudioSource } from '../../audio/decode-audio.ts';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { ServiceError } from '../../core/error.ts';
import type { Ids } from '../../core/id.ts';
import type { JobRecord } from '../../core/job.ts';
import { TRANSCRIPTION_BYTES_MAX, TRANSCRIPTION_FETCH_PAUSE_MS, TRANSCRIPTION_FETCH_TRIES } from '../../core/limits.ts';
import type { GuardedFetch } from '../../net/guarded-fetch.ts';
import { AUDIO_BLOB_PREFIX } from '../../resources/files/remove.ts';
import type { FileStore } from '../../store/files.ts';
import type { PartRecord, TranscriptionStore } from '../../store/transcriptions.ts';

/** Why one audio of a task was not heard, in the words of its interface (wire.md E7.2). */
export class PartFailure extends Error {
  override readonly name = 'PartFailure';
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** Where the bytes of audios come from. */
export interface AudioSources {
  /** Brings it here, if that is still to be done. @throws PartFailure. */
  fetch(job: JobRecord, part: PartRecord, signal: AbortSignal): Promise<AudioSource>;
  /** What was brought here for it goes. */
  forget(job: JobRecord, part: PartRecord): Promise<void>;
}

export interface AudioSourcesNeeds {
  readonly transcriptions: Pick<TranscriptionStore, 'setSource' | 'parts'>;
  readonly files: Pick<FileStore, 'find'>;
  readonly blobs: BlobStore;
  readonly fetch: GuardedFetch;
  readonly ids: Ids;
}

const FILE = 'fileid://';
const NOT_DOWNLOADED = 'The audio file cannot be downloaded.';

/**
 * Audios by their addresses, and files of the caller's own. What is elsewhere is fetched as a whole before it is heard: hearing
 * takes longer than a server waits, and who goes on later need not ask again.
 */
export function createAudioSources({ transcriptions, files, blobs, fetch, ids }: AudioSourcesNeeds): AudioSources {
  const sourceOf = (blob: string, sizeBytes: number): AudioSource => ({
    sizeBytes,
    async read(from) {
      try {
        return await blobs.read(blob, { start: from, end: sizeBytes - 1 });
      } catch (thrown) {
        if (ServiceError.from(thrown).kind !== 'file-not-found') throw thrown;
        throw new PartFailure('InvalidFile.DownloadFailed', `${NOT_DOWNLOADED} It is not there any more.`);
      }
    },
  });

  const ownFile = async (job: JobRecord, source: string): Promise<AudioSource> => {
    const file = await files.find(job.owner, source.slice(FILE.length));
    if (!file) throw new PartFailure('InvalidFile.DownloadFailed', `${NOT_DOWNLOADED} There is no such file.`);
    return sourceOf(file.blob, file.sizeBytes);
  };

  const download = async (source: string, blob: string, signal: AbortSignal): Promise<number> => {
    for (let tries = 1; ; tries += 1) {
      try {
        const { status, body } = await fetch(source, { bytesMax: TRANSCRIPTION_BYTES_MAX, signal });
        if (status < 200 || status > 299) {
          body.destroy();
          throw new ServiceError(status >= 500 ? 'upstream-failed' : 'not-found', `Its server answered ${status}.`);
        }
        return (await blobs.put(blob, body, { signal })).sizeBytes;
      } catch (thrown) {
        signal.throwIfAborted();
        await blobs.abandon(blob);
        const error = ServiceError.from(thrown);
        // Ours, not its server's.
        if (error.kind === 'internal' || error.kind === 'overloaded') throw error;
        if (error.kind === 'too-large') throw new PartFailure('FILE_CHECK_FAILED', error.message, error);
        const isPassing = error.kind === 'upstream-failed' || error.kind === 'timeout';
        if (!isPassing || tries >= TRANSCRIPTION_FETCH_TRIES) {
          throw new PartFailure('InvalidFile.DownloadFailed', `${NOT_DOWNLOADED} ${error.message}`, error);
        }
        await pause(TRANSCRIPTION_FETCH_PAUSE_MS, undefined, { signal });
      }
    }
  };

  return {
    async fetch(job, part, signal) {
      if (part.source.startsWith(FILE)) return await ownFile(job, part.source);
      const { sourceBlob, sourceBytes } = part;
      if (sourceBlob !== undefined && sourceBytes !== undefined) return sourceOf(sourceBlob, sourceBytes);
      const blob = ids.sortable(AUDIO_BLOB_PREFIX);
      if (sourceBlob !== undefined) await blobs.delete(sourceBlob);
      await transcriptions.setSource(job.subject, part.number, { blob });
      const bytes = await download(part.source, blob, signal);
      await transcriptions.setSource(job.subject, part.number, { blob, bytes });
      return sourceOf(blob, bytes);
    },
    async forget(job, { number }) {
      const part = (await transcriptions.parts(job.subject)).find((each) => each.number === number);
      if (part?.sourceBlob === undefined) return;
      await blobs.delete(part.sourceBlob);
      await transcriptions.setSource(job.subject, number, undefined);
    },
  };
}
