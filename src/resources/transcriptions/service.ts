import type { Owner } from '../../core/context.ts';
import { type Ids, systemIds } from '../../core/id.ts';
import type { HeardWord, Sentence, TranscriptionOrder } from '../../core/speech.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Store } from '../../store/store.ts';
import type { AudioChannel } from '../../store/transcriptions.ts';
import type { JobBell } from '../jobs/job-bell.ts';
import { newJob } from '../jobs/new-job.ts';

/** `service` of a task that hears audios. */
const TRANSCRIPTION_SERVICE = 'audio/asr/transcription';

export interface TranscriptionsNeeds {
  readonly store: Store;
  readonly clock: Clock;
  readonly bell: Pick<JobBell, 'ring'>;
  readonly ids?: Ids;
}

export interface TranscriptionWish {
  readonly requestId: string;
  /** As asked. */
  readonly model: string;
  /** Addresses, not empty. */
  readonly sources: readonly string[];
  readonly order: TranscriptionOrder;
}

export interface Transcriptions {
  /** @returns the id of its task. */
  begin(owner: Owner, wish: TranscriptionWish): Promise<string>;
  /** What was heard of a channel of an audio, in its order. */
  sentences(channel: AudioChannel): Promise<readonly Sentence[]>;
}

export function createTranscriptions({ store, clock, bell, ids = systemIds }: TranscriptionsNeeds): Transcriptions {
  return {
    async begin(owner, { requestId, model, sources, order }) {
      const id = ids.request();
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
          wish: JSON.stringify(order),
        });
        await transcriptions.insert(id, sources);
        await jobs.insert(newJob({ kind: 'transcription', subject: id, owner, payload: {} }, { ids, clock }));
      });
      bell.ring('due');
      return id;
    },
    sentences: async (channel) =>
      (await store.transcriptions.windows(channel)).flatMap(({ text }) => decodeSentences(text)),
  };
}

/** As they are stored: they are many, and most of them are words. */
type PackedWord = readonly [text: string, punctuation: string, beginMs: number, endMs: number];
interface PackedSentence extends Omit<Sentence, 'words'> {
  readonly words: readonly PackedWord[];
}

const pack = ({ text, punctuation, beginMs, endMs }: HeardWord): PackedWord => [text, punctuation, beginMs, endMs];

const unpack = ([text, punctuation, beginMs, endMs]: PackedWord): HeardWord => ({ text, punctuation, beginMs, endMs });

export const encodeSentences = (sentences: readonly Sentence[]): string =>
  JSON.stringify(sentences.map((sentence): PackedSentence => ({ ...sentence, words: sentence.words.map(pack) })));

const decodeSentences = (text: string): readonly Sentence[] =>
  (JSON.parse(text) as readonly PackedSentence[]).map((sentence) => ({
    ...sentence,
    words: sentence.words.map(unpack),
  }));
