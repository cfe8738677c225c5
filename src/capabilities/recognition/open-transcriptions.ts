import type { ModelEntry } from '../../catalogue/model.ts';
import type { Owner } from '../../core/context.ts';
import { systemIdGenerator } from '../../core/id.ts';
import { TRANSCRIPTION_FETCH_MS_MAX, TRANSCRIPTION_URL_SECONDS } from './limits.ts';
import type { Hotword, TranscriptionRequest } from '../../core/speech.ts';
import { createTranscriptionHandler } from './jobs/transcription-handler.ts';
import { createAudioSources } from './jobs/audio-sources.ts';
import { createGuardedFetch } from '../../net/guarded-fetch.ts';
import { createAudioTranscriptionsEndpoint } from './audio-transcriptions/endpoint.ts';
import { createAudioTranslationsEndpoint } from './audio-translations/endpoint.ts';
import type { AudioTranscriptionsDeps } from './audio-transcriptions/endpoint.ts';
import { createTaskCancelEndpoint, createTaskGetEndpoint, createTaskListEndpoint } from './native-tasks/endpoint.ts';
import { encodeTranscriptionTask } from './native-transcription/encode.ts';
import { createTranscriptionEndpoints, TRANSCRIPTS_PATH } from './native-transcription/endpoints.ts';
import { createTasks } from './tasks/service.ts';
import { startTaskCleanup } from './tasks/task-cleanup.ts';
import { createTranscriptions } from './transcriptions/service.ts';
import { createModelGoneError } from '../../service/model-errors.ts';
import type { CapabilityContext } from '../../service/capability.ts';
import type { AudioOpener } from './transcription/audio-opener.ts';
import { createRecognizeFile } from './recognize-file.ts';

interface TranscriptionDeps {
  readonly openAudio: AudioOpener;
  readonly findHotwords: (owner: Owner, id: string, model: string) => Promise<readonly Hotword[]>;
}

/**
 * Opens the transcription of files: tasks with their job handler and results, and the endpoints `audio/transcriptions`
 * and `audio/translations`, which return the text in their response.
 */
export function openTranscriptions(context: CapabilityContext, { openAudio, findHotwords }: TranscriptionDeps) {
  const { config, store, clock, log, jobNotifier, runsCleanup, catalogue, leaseSpeechEngine } = context;
  const { files, blobs, createLinksBelow, fileBytesMax } = context.files;
  const { strict } = config;
  const getCatalogue = () => catalogue;
  const transcriptions = createTranscriptions({ store, clock, notifier: jobNotifier });
  const links = createLinksBelow(TRANSCRIPTS_PATH, TRANSCRIPTION_URL_SECONDS);
  const tasks = createTasks({
    store,
    clock,
    notifier: jobNotifier,
    async encodeResult(record, { keyId }) {
      // Whether the request named a single file; the result has another form then.
      const { wantsOne } = JSON.parse(record.requestJson) as TranscriptionRequest;
      // A part is one audio file of the request.
      const createLink = ({ number }: { readonly number: number }): string =>
        links.createLink({ id: `${record.id}/${number}`, region: record.region, keyId });
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
    const entry = catalogue.find(model);
    if (!entry) throw createModelGoneError('unsupported', model);
    return entry;
  };
  const uploadDeps: AudioTranscriptionsDeps = {
    files,
    openSource: ({ blob, sizeBytes }) => ({
      sizeBytes,
      read: (from) => blobs.read(blob, { start: from, end: sizeBytes - 1 }),
    }),
    recognize: createRecognizeFile({ catalogue: getCatalogue, leaseSpeechEngine, openAudio }),
    catalogue: getCatalogue,
    findHotwords,
    fileBytesMax,
    strict,
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
      createAudioTranscriptionsEndpoint(uploadDeps),
      createAudioTranslationsEndpoint(uploadDeps),
      createTaskGetEndpoint({ tasks }),
      // The API allows reading a task by POST too (docs/wire/dashscope-native.md#tasks).
      createTaskGetEndpoint({ tasks }, 'POST'),
      createTaskListEndpoint({ tasks }),
      createTaskCancelEndpoint({ tasks }),
    ],
    close: async () => cleanup?.close(),
  };
}
