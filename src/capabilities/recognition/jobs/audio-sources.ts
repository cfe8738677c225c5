import { setTimeout as pause } from 'node:timers/promises';
import type { AudioSource } from '../audio/audio-decoder.ts';
import type { BlobStore } from '../../../blobs/blob-store.ts';
import { ServiceError } from '../../../core/error.ts';
import type { IdGenerator } from '../../../core/id.ts';
import type { JobRecord } from '../../../core/job.ts';
import { TRANSCRIPTION_BYTES_MAX } from '../limits.ts';
import { TRANSCRIPTION_FETCH_PAUSE_MS, TRANSCRIPTION_FETCH_ATTEMPTS_MAX } from './limits.ts';
import type { GuardedFetch } from '../../../net/guarded-fetch.ts';
import { AUDIO_BLOB_PREFIX } from '../../../resources/files/remove.ts';
import type { FileStore } from '../../../store/files.ts';
import type { TranscriptionPartRecord, TranscriptionStore } from '../../../store/transcriptions.ts';

/**
 * Reason why one audio of a task failed, with the code and message of the API
 * (docs/wire/dashscope-native.md#transcription).
 */
export class AudioFailure extends Error {
  override readonly name = 'AudioFailure';
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** Supplies the bytes of a task's audio files. */
export interface AudioSources {
  /** Downloads the audio unless that is done already. @throws AudioFailure. */
  fetch(job: JobRecord, part: TranscriptionPartRecord, signal: AbortSignal): Promise<AudioSource>;
  /** Deletes the downloaded copy. */
  forget(job: JobRecord, part: TranscriptionPartRecord): Promise<void>;
}

export interface AudioSourcesDeps {
  readonly transcriptions: Pick<TranscriptionStore, 'setSource' | 'listParts'>;
  readonly files: Pick<FileStore, 'find'>;
  readonly blobs: BlobStore;
  readonly fetch: GuardedFetch;
  readonly ids: IdGenerator;
}

const FILE_SCHEME = 'fileid://';
const NOT_DOWNLOADED = 'The audio file cannot be downloaded.';

/**
 * Reads audio by URL, and files of the tenant. A URL is downloaded completely before transcription starts:
 * transcription takes longer than a server keeps a connection, and a resumed task need not download again.
 */
export function createAudioSources({ transcriptions, files, blobs, fetch, ids }: AudioSourcesDeps): AudioSources {
  const openBlob = (blob: string, sizeBytes: number): AudioSource => ({
    sizeBytes,
    async read(from) {
      try {
        return await blobs.read(blob, { start: from, end: sizeBytes - 1 });
      } catch (thrown) {
        if (ServiceError.from(thrown).kind !== 'file-not-found') throw thrown;
        throw new AudioFailure('InvalidFile.DownloadFailed', `${NOT_DOWNLOADED} The file was deleted.`);
      }
    },
  });

  const findTenantFile = async (job: JobRecord, source: string): Promise<AudioSource> => {
    const file = await files.find(job.owner, source.slice(FILE_SCHEME.length));
    if (!file) throw new AudioFailure('InvalidFile.DownloadFailed', `${NOT_DOWNLOADED} The file does not exist.`);
    return openBlob(file.blob, file.sizeBytes);
  };

  const download = async (source: string, blob: string, signal: AbortSignal): Promise<number> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const { status, body } = await fetch(source, { bytesMax: TRANSCRIPTION_BYTES_MAX, signal });
        if (status < 200 || status > 299) {
          body.destroy();
          throw new ServiceError(
            status >= 500 ? 'upstream-failed' : 'not-found',
            `The server of the URL answered with status ${status}.`,
          );
        }
        return (await blobs.put(blob, body, { signal })).sizeBytes;
      } catch (thrown) {
        signal.throwIfAborted();
        await blobs.abortUpload(blob);
        const error = ServiceError.from(thrown);
        // Parley's failure, not that of the audio's server.
        if (error.kind === 'internal' || error.kind === 'overloaded') throw error;
        if (error.kind === 'too-large') throw new AudioFailure('FILE_CHECK_FAILED', error.message, error);
        const isTransient = error.kind === 'upstream-failed' || error.kind === 'timeout';
        if (!isTransient || attempt >= TRANSCRIPTION_FETCH_ATTEMPTS_MAX) {
          throw new AudioFailure('InvalidFile.DownloadFailed', `${NOT_DOWNLOADED} ${error.message}`, error);
        }
        await pause(TRANSCRIPTION_FETCH_PAUSE_MS, undefined, { signal });
      }
    }
  };

  return {
    async fetch(job, part, signal) {
      if (part.source.startsWith(FILE_SCHEME)) return await findTenantFile(job, part.source);
      const { sourceBlob, sourceBytes } = part;
      if (sourceBlob !== undefined && sourceBytes !== undefined) return openBlob(sourceBlob, sourceBytes);
      const blob = ids.createSortableId(AUDIO_BLOB_PREFIX);
      if (sourceBlob !== undefined) await blobs.delete(sourceBlob);
      await transcriptions.setSource(job.subject, part.number, { blob });
      const bytes = await download(part.source, blob, signal);
      await transcriptions.setSource(job.subject, part.number, { blob, bytes });
      return openBlob(blob, bytes);
    },
    async forget(job, { number }) {
      const part = (await transcriptions.listParts(job.subject)).find((each) => each.number === number);
      if (part?.sourceBlob === undefined) return;
      await blobs.delete(part.sourceBlob);
      await transcriptions.setSource(job.subject, number, undefined);
    },
  };
}
