import { createModelGoneError } from './model-errors.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Catalogue, ModelEntry, ResolvedModel } from '../catalogue/model.ts';
import type { Config } from '../config/config.ts';
import type { Owner } from '../core/context.ts';
import { systemIdGenerator } from '../core/id.ts';
import { TRANSCRIPTION_FETCH_MS_MAX, TRANSCRIPTION_URL_SECONDS } from './limits.ts';
import type { Hotword, TranscriptionRequest } from '../core/speech.ts';
import type { Log } from '../core/telemetry.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';
import type { JobHandlers } from '../jobs/handler.ts';
import { createTranscriptionHandler } from '../jobs/kinds/transcription-handler.ts';
import { createAudioSources } from '../jobs/kinds/audio-sources.ts';
import type { Clock } from '../lib/clock.ts';
import { createGuardedFetch } from '../net/guarded-fetch.ts';
import { createAudioTranscriptionsEndpoint } from '../protocols/compatible/audio-transcriptions/endpoint.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import {
  createTaskCancelEndpoint,
  createTaskGetEndpoint,
  createTaskListEndpoint,
} from '../protocols/native/tasks/endpoint.ts';
import { encodeTranscriptionTask } from '../protocols/native/transcription/encode.ts';
import { createTranscriptionEndpoints, TRANSCRIPTS_PATH } from '../protocols/native/transcription/endpoints.ts';
import type { Files } from '../resources/files/file.ts';
import type { SignedLinks } from '../resources/files/signed-links.ts';
import type { JobNotifier } from '../resources/jobs/job-notifier.ts';
import { createTasks } from '../resources/tasks/service.ts';
import { startTaskCleanup } from '../resources/tasks/task-cleanup.ts';
import { createTranscriptions } from '../resources/transcriptions/service.ts';
import type { Store } from '../store/store.ts';
import type { AudioOpener } from '../transcription/audio-opener.ts';
import { createRecognizeFile } from './recognize-file.ts';

export interface OpenTranscriptionsDeps {
  readonly config: Config;
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly files: Files;
  /** Creates signed links whose URL path begins with `path`; `seconds` is their validity. */
  readonly createLinksBelow: (path: string, seconds: number) => SignedLinks;
  readonly fileBytesMax: number;
  /** Returns the current catalogue; it changes while the service runs. */
  readonly getCatalogue: () => Pick<Catalogue, 'resolve' | 'find'>;
  readonly leaseSpeechEngine: (model: ResolvedModel) => Promise<{ readonly engine: SpeechEngine; release(): void }>;
  readonly openAudio: AudioOpener;
  readonly findHotwords: (owner: Owner, id: string, model: string) => Promise<readonly Hotword[]>;
  readonly jobNotifier: JobNotifier;
  readonly clock: Clock;
  readonly log: Log;
  /** True in the one process that does the periodic cleanup for all. */
  readonly runsCleanup: boolean;
}

export interface TranscriptionsModule {
  readonly jobs: JobHandlers;
  readonly endpoints: readonly Endpoint[];
  close(): Promise<void>;
}

/**
 * Opens the transcription of files: tasks with their job handler and results, and the endpoint `audio/transcriptions`,
 * which returns the text in its response.
 */
export function openTranscriptions(deps: OpenTranscriptionsDeps): TranscriptionsModule {
  const {
    config,
    store,
    blobs,
    files,
    createLinksBelow,
    getCatalogue,
    leaseSpeechEngine,
    openAudio,
    findHotwords,
    runsCleanup,
  } = deps;
  const { clock, log, jobNotifier } = deps;
  const { strict } = config;
  const transcriptions = createTranscriptions({ store, clock, notifier: jobNotifier });
  const links = createLinksBelow(TRANSCRIPTS_PATH, TRANSCRIPTION_URL_SECONDS);
  const tasks = createTasks({
    store,
    clock,
    notifier: jobNotifier,
    async encodeResult(record) {
      // Whether the request named a single file; the result has another form then.
      const { wantsOne } = JSON.parse(record.requestJson) as TranscriptionRequest;
      // A part is one audio file of the request.
      const createLink = ({ number }: { readonly number: number }): string =>
        links.createLink({ id: `${record.id}/${number}`, region: record.region });
      return encodeTranscriptionTask(record, {
        parts: await store.transcriptions.listParts(record.id),
        wantsOne,
        createLink,
      });
    },
  });
  const fetch = createGuardedFetch({
    // Hosts and networks that may be fetched from although they are not public.
    allow: config.speech.allow,
    timeouts: { totalMs: TRANSCRIPTION_FETCH_MS_MAX },
  });
  const sources = createAudioSources({
    transcriptions: store.transcriptions,
    files: store.files,
    blobs,
    fetch,
    ids: systemIdGenerator,
  });
  const findEntry = (model: string): ModelEntry => {
    const entry = getCatalogue().find(model);
    if (!entry) throw createModelGoneError('unsupported', model);
    return entry;
  };
  const cleanup = runsCleanup ? startTaskCleanup({ store, blobs, clock, log }) : undefined;
  return {
    jobs: {
      transcription: createTranscriptionHandler({
        store,
        clock,
        sources,
        openAudio,
        leaseSpeechEngine: async (model) => await leaseSpeechEngine({ requestedName: model, entry: findEntry(model) }),
      }),
    },
    endpoints: [
      ...createTranscriptionEndpoints({ transcriptions, store, links, catalogue: getCatalogue, findHotwords, strict }),
      createAudioTranscriptionsEndpoint({
        files,
        openSource: ({ blob, sizeBytes }) => ({
          sizeBytes,
          read: (from) => blobs.read(blob, { start: from, end: sizeBytes - 1 }),
        }),
        recognize: createRecognizeFile({ catalogue: getCatalogue, leaseSpeechEngine, openAudio }),
        catalogue: getCatalogue,
        fileBytesMax: deps.fileBytesMax,
        strict,
      }),
      createTaskGetEndpoint({ tasks }),
      // The API allows reading a task by POST too (docs/wire/dashscope-native.md#tasks).
      createTaskGetEndpoint({ tasks }, 'POST'),
      createTaskListEndpoint({ tasks }),
      createTaskCancelEndpoint({ tasks }),
    ],
    close: async () => cleanup?.close(),
  };
}
