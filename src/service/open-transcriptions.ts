import type { BlobStore } from '../blobs/blob-store.ts';
import type { Catalogue, ModelEntry, ResolvedModel } from '../catalogue/model.ts';
import type { Config } from '../config/config.ts';
import type { Owner } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import { systemIds } from '../core/id.ts';
import { TRANSCRIPTION_FETCH_MS_MAX, TRANSCRIPTION_URL_SECONDS } from '../core/limits.ts';
import type { Hotword, TranscriptionOrder } from '../core/speech.ts';
import type { Log } from '../core/telemetry.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';
import type { JobHandlers } from '../jobs/handler.ts';
import { transcriptionJob } from '../jobs/kinds/transcription.ts';
import { createAudioSources } from '../jobs/kinds/transcription-audio.ts';
import type { Clock } from '../lib/clock.ts';
import { createGuardedFetch } from '../net/guarded-fetch.ts';
import { audioTranscriptions } from '../protocols/compatible/audio-transcriptions/endpoint.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { taskCancel, taskGet, taskList } from '../protocols/native/tasks/endpoint.ts';
import { encodeTranscriptionTask } from '../protocols/native/transcription/encode.ts';
import { nativeTranscription, TRANSCRIPTS_PATH } from '../protocols/native/transcription/endpoints.ts';
import type { Files } from '../resources/files/file.ts';
import type { Links } from '../resources/files/links.ts';
import type { JobBell } from '../resources/jobs/job-bell.ts';
import { createTasks } from '../resources/tasks/service.ts';
import { startTaskSweep } from '../resources/tasks/sweep.ts';
import { createTranscriptions } from '../resources/transcriptions/service.ts';
import type { Store } from '../store/store.ts';
import type { OpenAudio } from '../transcription/opened-audio.ts';
import { createHear } from './hear.ts';

export interface OpenTranscriptionsNeeds {
  readonly config: Config;
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly files: Files;
  readonly linksAt: (path: string, seconds: number) => Links;
  readonly fileBytesMax: number;
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve' | 'find'>;
  readonly speechFor: (model: ResolvedModel) => Promise<{ readonly engine: SpeechEngine; release(): void }>;
  readonly openAudio: OpenAudio;
  readonly findHotwords: (owner: Owner, id: string, model: string) => Promise<readonly Hotword[]>;
  readonly bell: JobBell;
  readonly clock: Clock;
  readonly log: Log;
  /** Of several processes one sweeps for all. */
  readonly sweeps: boolean;
}

export interface OpenedTranscriptions {
  readonly jobs: JobHandlers;
  readonly endpoints: readonly Endpoint[];
  close(): Promise<void>;
}

/** Recognition of files with all that belongs to it: tasks, their work, their results, and the interface that waits. */
export function openTranscriptions(needs: OpenTranscriptionsNeeds): OpenedTranscriptions {
  const { config, store, blobs, files, linksAt, catalogue, speechFor, openAudio, findHotwords, sweeps } = needs;
  const { clock, log, bell } = needs;
  const { strict } = config;
  const transcriptions = createTranscriptions({ store, clock, bell });
  const links = linksAt(TRANSCRIPTS_PATH, TRANSCRIPTION_URL_SECONDS);
  const tasks = createTasks({
    store,
    clock,
    bell,
    async tell(record) {
      const { wantsOne } = JSON.parse(record.wish) as TranscriptionOrder;
      const linkOf = ({ number }: { readonly number: number }): string =>
        links.linkTo({ id: `${record.id}/${number}`, region: record.region });
      return encodeTranscriptionTask(record, { parts: await store.transcriptions.parts(record.id), wantsOne, linkOf });
    },
  });
  const fetch = createGuardedFetch({
    allow: config.speech.allow,
    timeouts: { wholeMs: TRANSCRIPTION_FETCH_MS_MAX },
  });
  const sources = createAudioSources({
    transcriptions: store.transcriptions,
    files: store.files,
    blobs,
    fetch,
    ids: systemIds,
  });
  const entryOf = (model: string): ModelEntry => {
    const entry = catalogue().find(model);
    if (!entry) throw new ServiceError('unsupported', `There is no model ${model} any more.`);
    return entry;
  };
  const sweeper = sweeps ? startTaskSweep({ store, blobs, clock, log }) : undefined;
  return {
    jobs: {
      transcription: transcriptionJob({
        store,
        clock,
        sources,
        openAudio,
        speechFor: async (model) => await speechFor({ asked: model, entry: entryOf(model) }),
      }),
    },
    endpoints: [
      ...nativeTranscription({ transcriptions, store, links, catalogue, findHotwords, strict }),
      audioTranscriptions({
        files,
        sourceOf: ({ blob, sizeBytes }) => ({
          sizeBytes,
          read: (from) => blobs.read(blob, { start: from, end: sizeBytes - 1 }),
        }),
        hear: createHear({ catalogue, speechFor, openAudio }),
        catalogue,
        fileBytesMax: needs.fileBytesMax,
        strict,
      }),
      taskGet({ tasks }),
      taskGet({ tasks }, 'POST'),
      taskList({ tasks }),
      taskCancel({ tasks }),
    ],
    close: async () => sweeper?.close(),
  };
}
