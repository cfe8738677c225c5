import type { Owner } from '../../../core/context.ts';
import { type IdGenerator, systemIdGenerator } from '../../../core/id.ts';
import type { RecognizedWord, TranscriptSentence, TranscriptionRequest } from '../../../core/speech.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Store } from '../../../store/store.ts';
import type { TranscriptionChannel } from '../../../store/transcriptions.ts';
import type { JobNotifier } from '../../../resources/jobs/job-notifier.ts';
import { createJob } from '../../../resources/jobs/create-job.ts';

/** `service` of transcription tasks. */
const TRANSCRIPTION_SERVICE = 'audio/asr/transcription';

export interface TranscriptionsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly notifier: Pick<JobNotifier, 'notify'>;
  readonly ids?: IdGenerator;
}

export interface TranscriptionTaskRequest {
  readonly requestId: string;
  /** The model name that the client sent. */
  readonly model: string;
  /** URLs of the audio files, at least one. */
  readonly sources: readonly string[];
  readonly options: TranscriptionRequest;
}

export interface Transcriptions {
  /** Creates a task and its job. @returns the task's id. */
  submit(owner: Owner, request: TranscriptionTaskRequest): Promise<string>;
  /** Returns the recognized sentences of one audio channel, in order. */
  sentences(channel: TranscriptionChannel): Promise<readonly TranscriptSentence[]>;
}

export function createTranscriptions({
  store,
  clock,
  notifier,
  ids = systemIdGenerator,
}: TranscriptionsDeps): Transcriptions {
  return {
    async submit(owner, { requestId, model, sources, options }) {
      const id = ids.createRequestId();
      const { region, workspace, keyId } = owner;
      await store.transaction(async ({ tasks, transcriptions, jobs }) => {
        await tasks.insert({
          id,
          region,
          workspace,
          keyId,
          requestId,
          model,
          service: TRANSCRIPTION_SERVICE,
          status: 'pending',
          submittedAt: clock.now(),
          startedAt: undefined,
          endedAt: undefined,
          error: undefined,
          requestJson: JSON.stringify(options),
        });
        await transcriptions.insert(id, sources);
        await jobs.insert(createJob({ kind: 'transcription', subject: id, owner, payload: {} }, { ids, clock }));
      });
      notifier.notify('due');
      return id;
    },
    sentences: async (channel) =>
      (await store.transcriptions.listWindows(channel)).flatMap(({ text }) => decodeSentences(text)),
  };
}

/** Stored form of a sentence. Words are tuples because they make up most of the data. */
type PackedWord = readonly [text: string, punctuation: string, beginMs: number, endMs: number];
interface PackedSentence extends Omit<TranscriptSentence, 'words'> {
  readonly words: readonly PackedWord[];
}

const packWord = ({ text, punctuation, beginMs, endMs }: RecognizedWord): PackedWord => [
  text,
  punctuation,
  beginMs,
  endMs,
];

const unpackWord = ([text, punctuation, beginMs, endMs]: PackedWord): RecognizedWord => ({
  text,
  punctuation,
  beginMs,
  endMs,
});

export const encodeSentences = (sentences: readonly TranscriptSentence[]): string =>
  JSON.stringify(sentences.map((sentence): PackedSentence => ({ ...sentence, words: sentence.words.map(packWord) })));

const decodeSentences = (text: string): readonly TranscriptSentence[] =>
  (JSON.parse(text) as readonly PackedSentence[]).map((sentence) => ({
    ...sentence,
    words: sentence.words.map(unpackWord),
  }));
