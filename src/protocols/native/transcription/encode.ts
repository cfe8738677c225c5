import type { AudioFacts, HeardWord, Sentence } from '../../../core/speech.ts';
import type { Task } from '../../../resources/tasks/task.ts';
import type { Transcriptions } from '../../../resources/transcriptions/service.ts';
import type { TaskRecord } from '../../../store/tasks.ts';
import type { PartRecord } from '../../../store/transcriptions.ts';

const factsOf = ({ facts }: PartRecord): AudioFacts | undefined =>
  facts === undefined ? undefined : (JSON.parse(facts) as AudioFacts);

interface Told {
  readonly parts: readonly PartRecord[];
  /** What was asked was one audio, and no list. */
  readonly wantsOne: boolean;
  readonly linkOf: (part: PartRecord) => string;
}

/** wire.md E7.2: what a task says of its audios. Before its end, only how many there are. */
export function encodeTranscriptionTask(
  { status }: Pick<TaskRecord, 'status'>,
  { parts, wantsOne, linkOf }: Told,
): Pick<Task, 'output' | 'usage'> {
  const count = (state: PartRecord['state']): number => parts.filter((part) => part.state === state).length;
  const metrics = { task_metrics: { TOTAL: parts.length, SUCCEEDED: count('succeeded'), FAILED: count('failed') } };
  if (status === 'running') return { output: metrics };
  if (status !== 'succeeded' && status !== 'failed') return { output: {} };
  const heard = parts.filter(({ state }) => state !== 'waiting');
  const [first] = heard;
  const isOne = wantsOne && first?.state === 'succeeded';
  const seconds = parts.reduce((sum, part) => sum + Math.ceil((factsOf(part)?.durationMs ?? 0) / 1_000), 0);
  return {
    output: {
      ...(isOne ? { result: { transcription_url: linkOf(first) } } : {}),
      ...(wantsOne ? {} : { results: heard.map((part) => encodePart(part, linkOf)) }),
      ...metrics,
      // A task none of whose audios was heard has failed for their reason.
      ...(status === 'failed' && first?.state === 'failed' ? { code: first.code, message: first.message } : {}),
    },
    usage: { duration: seconds },
  };
}

const encodePart = (part: PartRecord, linkOf: Told['linkOf']): object =>
  part.state === 'succeeded'
    ? { file_url: part.source, transcription_url: linkOf(part), subtask_status: 'SUCCEEDED' }
    : { file_url: part.source, code: part.code ?? '', message: part.message ?? '', subtask_status: 'FAILED' };

/** wire.md E7.2: what was heard in one audio. */
export async function encodeTranscript(
  taskId: string,
  part: PartRecord,
  { sentences }: Pick<Transcriptions, 'sentences'>,
): Promise<object> {
  const facts = factsOf(part);
  const channels = facts?.channels ?? [];
  return {
    file_url: part.source,
    properties: {
      audio_format: facts?.format ?? '',
      channels,
      original_sampling_rate: facts?.sampleRate ?? 0,
      original_duration_in_milliseconds: facts?.durationMs ?? 0,
    },
    transcripts: await Promise.all(
      channels.map(async (channel) => encodeChannel(channel, await sentences({ taskId, part: part.number, channel }))),
    ),
  };
}

const encodeChannel = (channel: number, sentences: readonly Sentence[]): object => ({
  channel_id: channel,
  content_duration_in_milliseconds: sentences.reduce((sum, { beginMs, endMs }) => sum + endMs - beginMs, 0),
  text: joined(sentences),
  sentences: sentences.map(({ beginMs, endMs, text, words }, at) => ({
    begin_time: beginMs,
    end_time: endMs,
    text,
    sentence_id: at + 1,
    speaker_id: null,
    words: words.map(encodeWord),
  })),
});

/** Languages that need a blank between sentences have one between words. */
const joined = (sentences: readonly Sentence[]): string =>
  sentences
    .map(({ text, language }) => text + (BLANKLESS.has(language) ? '' : ' '))
    .join('')
    .trim();

const BLANKLESS: ReadonlySet<string> = new Set(['zh', 'ja', 'yue', 'th', 'lo', 'my', 'km']);

const encodeWord = ({ beginMs, endMs, text, punctuation }: HeardWord): object => ({
  begin_time: beginMs,
  end_time: endMs,
  text,
  punctuation,
});
