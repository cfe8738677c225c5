import { isFileDamaged, type ServiceError } from '../../../core/error.ts';
import { errorCodec } from '../../../core/error-codec.ts';
import type { JobRecord } from '../../../core/job.ts';
import { TRANSCRIPTION_CONCURRENCY } from './limits.ts';
import { SPEECH_SAMPLE_RATE } from '../../../core/speech.ts';
import type { AudioMetadata, TranscriptionRequest } from '../../../core/speech.ts';
import type { SpeechEngine } from '../../../engines/speech-engine.ts';
import type { Clock } from '../../../lib/clock.ts';
import { encodeSentences } from '../transcriptions/service.ts';
import type { Store } from '../../../store/store.ts';
import type { TranscriptionPartResult, TranscriptionPartRecord } from '../../../store/transcriptions.ts';
import { filterSupportedLanguages } from '../transcription/filter-supported-languages.ts';
import { UnreadableAudioError } from '../transcription/audio-opener.ts';
import type { AudioOpener } from '../transcription/audio-opener.ts';
import { formatSentences } from '../transcription/format-sentences.ts';
import { transcribe } from '../transcription/transcribe.ts';
import type { JobHandler, JobContext } from '../../../jobs/handler.ts';
import type { AudioSources } from './audio-sources.ts';
import { AudioFailure } from './audio-sources.ts';

export interface TranscriptionHandlerDeps {
  readonly store: Pick<Store, 'tasks' | 'transcriptions'>;
  readonly clock: Clock;
  readonly sources: AudioSources;
  readonly openAudio: AudioOpener;
  /** @param model Internal name of the model. */
  readonly leaseSpeechEngine: (model: string) => Promise<{ readonly engine: SpeechEngine; release(): void }>;
}

/**
 * Transcribes the audio files of a task one after the other. Each window is stored, so that a resumed job continues
 * after the last stored window. A failed audio does not fail the others.
 */
export function createTranscriptionHandler({
  store,
  clock,
  sources,
  openAudio,
  leaseSpeechEngine,
}: TranscriptionHandlerDeps): JobHandler {
  const { tasks, transcriptions } = store;

  const transcribePart = async (
    run: JobContext,
    request: TranscriptionRequest,
    part: TranscriptionPartRecord,
  ): Promise<TranscriptionPartResult> => {
    const { job, signal } = run;
    const { engine, release } = await leaseSpeechEngine(request.model);
    try {
      const { languages } = await engine.loadModel();
      const source = await sources.fetch(job, part, signal);
      let metadata: AudioMetadata | undefined;
      let hasSpeech = false;
      for (const channel of request.channels.length > 0 ? request.channels : [undefined]) {
        const channelKey = { taskId: job.subject, part: part.number, channel: channel ?? 0 };
        const storedWindows = await transcriptions.listWindows(channelKey);
        hasSpeech ||= storedWindows.length > 0;
        const audio = openAudio(source, { workspace: job.owner.workspace, channel, signal });
        const recognition = {
          id: `${job.subject}/${part.number}`,
          owner: { workspace: job.owner.workspace, key: job.owner.keyId, priority: 'background' as const },
          languages: filterSupportedLanguages(request.languages, languages),
          hotwords: request.hotwords,
          includeWords: true,
        };
        const from = storedWindows.at(-1)?.endSample ?? 0;
        let number = storedWindows.length;
        for await (const window of transcribe(audio.blocks, recognition, engine, signal, from)) {
          const text = encodeSentences(formatSentences(window, request.reading));
          await transcriptions.addWindow(channelKey, { number, endSample: window.endSample, text });
          number += 1;
          hasSpeech = true;
          run.report(encodeProgress(part, Math.round(window.endSample / SPEECH_SAMPLE_RATE)));
        }
        metadata = { ...audio.getMetadata(), channels: request.channels.length > 0 ? request.channels : [0] };
      }
      if (!metadata || !hasSpeech) {
        throw new AudioFailure('SUCCESS_WITH_NO_VALID_FRAGMENT', 'No speech was found in the audio.');
      }
      return { state: 'succeeded', metadata: JSON.stringify(metadata) };
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      if (thrown instanceof UnreadableAudioError)
        return { state: 'failed', code: 'DECODE_ERROR', message: thrown.message };
      if (thrown instanceof AudioFailure) return { state: 'failed', code: thrown.code, message: thrown.message };
      // Another attempt would find the same bytes.
      if (isFileDamaged(thrown))
        return { state: 'failed', code: 'InvalidFile.DownloadFailed', message: thrown.message };
      throw thrown;
    } finally {
      release();
    }
  };

  const finish = async (job: JobRecord, status: 'succeeded' | 'failed' | 'cancelled', error?: ServiceError) => {
    for (const part of await transcriptions.listParts(job.subject)) await sources.forget(job, part);
    const errorJson = error === undefined ? undefined : JSON.stringify(errorCodec.encode(error));
    await tasks.finish(job.subject, { status, at: clock.now(), error: errorJson });
  };

  return {
    concurrency: TRANSCRIPTION_CONCURRENCY,

    async run(run) {
      const { job } = run;
      const task = await tasks.findInAnyTenant(job.subject);
      if (!task || !(await tasks.start(job.subject, clock.now()))) return { type: 'done' };
      const request = JSON.parse(task.requestJson) as TranscriptionRequest;
      for (const part of await transcriptions.listParts(job.subject)) {
        if (part.state !== 'waiting') continue;
        await transcriptions.finishPart(job.subject, part.number, await transcribePart(run, request, part));
        await sources.forget(job, part);
      }
      const parts = await transcriptions.listParts(job.subject);
      await finish(job, parts.some(({ state }) => state === 'succeeded') ? 'succeeded' : 'failed');
      return { type: 'done' };
    },

    async giveUp(job, thrown) {
      await finish(job, 'failed', errorCodec.decode(errorCodec.encode(thrown)));
    },
    cancel: (job) => finish(job, 'cancelled'),
  };
}

const encodeProgress = ({ number }: TranscriptionPartRecord, seconds: number) => ({
  done: seconds,
  step: `audio ${number + 1}: seconds transcribed`,
});
