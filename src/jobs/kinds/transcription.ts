import type { ServiceError } from '../../core/error.ts';
import { errorCodec } from '../../core/error-codec.ts';
import type { JobRecord } from '../../core/job.ts';
import { TRANSCRIPTIONS_AT_ONCE } from '../../core/limits.ts';
import { SPEECH_SAMPLE_RATE } from '../../core/speech.ts';
import type { AudioFacts, TranscriptionOrder } from '../../core/speech.ts';
import type { SpeechEngine } from '../../engines/speech-engine.ts';
import type { Clock } from '../../lib/clock.ts';
import { encodeSentences } from '../../resources/transcriptions/service.ts';
import type { Store } from '../../store/store.ts';
import type { PartEnd, PartRecord } from '../../store/transcriptions.ts';
import { knownLanguages } from '../../transcription/known-languages.ts';
import { UnreadableAudio } from '../../transcription/opened-audio.ts';
import type { OpenAudio } from '../../transcription/opened-audio.ts';
import { readSentences } from '../../transcription/read-sentences.ts';
import { transcribe } from '../../transcription/transcribe.ts';
import type { JobHandler, JobRun } from '../handler.ts';
import type { AudioSources } from './transcription-audio.ts';
import { PartFailure } from './transcription-audio.ts';

export interface TranscriptionJobNeeds {
  readonly store: Pick<Store, 'tasks' | 'transcriptions'>;
  readonly clock: Clock;
  readonly sources: AudioSources;
  readonly openAudio: OpenAudio;
  /** @param model Its own name. */
  readonly speechFor: (model: string) => Promise<{ readonly engine: SpeechEngine; release(): void }>;
}

/**
 * Hears the audios of a task, one after the other. What was heard is stored window by window: whoever goes on, goes on behind
 * the last one. An audio that cannot be heard fails alone.
 */
export function transcriptionJob({ store, clock, sources, openAudio, speechFor }: TranscriptionJobNeeds): JobHandler {
  const { tasks, transcriptions } = store;

  const hearPart = async (run: JobRun, order: TranscriptionOrder, part: PartRecord): Promise<PartEnd> => {
    const { job, signal } = run;
    const { engine, release } = await speechFor(order.model);
    try {
      const { languages } = await engine.model();
      const source = await sources.fetch(job, part, signal);
      let facts: AudioFacts | undefined;
      let isAnythingSaid = false;
      for (const channel of order.channels.length > 0 ? order.channels : [undefined]) {
        const place = { taskId: job.subject, part: part.number, channel: channel ?? 0 };
        const heard = await transcriptions.windows(place);
        isAnythingSaid ||= heard.length > 0;
        const audio = openAudio(source, { channel, signal });
        const wish = {
          id: `${job.subject}/${part.number}`,
          owner: { workspace: job.owner.workspace, key: job.owner.keyId, priority: 'background' as const },
          languages: knownLanguages(order.languages, languages),
          hotwords: order.hotwords,
          wantsWords: true,
        };
        const from = heard.at(-1)?.endSample ?? 0;
        let number = heard.length;
        for await (const window of transcribe(audio.blocks, wish, engine, signal, from)) {
          const text = encodeSentences(readSentences(window, order.reading));
          await transcriptions.addWindow(place, { number, endSample: window.end, text });
          number += 1;
          isAnythingSaid = true;
          run.report(progressOf(part, Math.round(window.end / SPEECH_SAMPLE_RATE)));
        }
        facts = { ...audio.facts(), channels: order.channels.length > 0 ? order.channels : [0] };
      }
      if (!facts || !isAnythingSaid) {
        throw new PartFailure('SUCCESS_WITH_NO_VALID_FRAGMENT', 'No speech was found in the audio.');
      }
      return { state: 'succeeded', facts: JSON.stringify(facts) };
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      if (thrown instanceof UnreadableAudio) return { state: 'failed', code: 'DECODE_ERROR', message: thrown.message };
      if (thrown instanceof PartFailure) return { state: 'failed', code: thrown.code, message: thrown.message };
      throw thrown;
    } finally {
      release();
    }
  };

  const end = async (job: JobRecord, status: 'succeeded' | 'failed' | 'cancelled', error?: ServiceError) => {
    for (const part of await transcriptions.parts(job.subject)) await sources.forget(job, part);
    const told = error === undefined ? undefined : JSON.stringify(errorCodec.encode(error));
    await tasks.end(job.subject, { status, at: clock.now(), error: told });
  };

  return {
    atOnce: TRANSCRIPTIONS_AT_ONCE,

    async run(run) {
      const { job } = run;
      const task = await tasks.findAnywhere(job.subject);
      if (!task || !(await tasks.start(job.subject, clock.now()))) return { type: 'done' };
      const order = JSON.parse(task.wish) as TranscriptionOrder;
      for (const part of await transcriptions.parts(job.subject)) {
        if (part.state !== 'waiting') continue;
        await transcriptions.endPart(job.subject, part.number, await hearPart(run, order, part));
        await sources.forget(job, part);
      }
      const parts = await transcriptions.parts(job.subject);
      await end(job, parts.some(({ state }) => state === 'succeeded') ? 'succeeded' : 'failed');
      return { type: 'done' };
    },

    async giveUp(job, thrown) {
      await end(job, 'failed', errorCodec.decode(errorCodec.encode(thrown)));
    },
    cancel: (job) => end(job, 'cancelled'),
  };
}

const progressOf = ({ number }: PartRecord, seconds: number) => ({
  done: seconds,
  step: `audio ${number + 1}: seconds heard`,
});
