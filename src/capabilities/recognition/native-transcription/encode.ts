import type { AudioMetadata, RecognizedWord, TranscriptSentence } from '../../../core/speech.ts';
import type { Task } from '../tasks/task.ts';
import type { Transcriptions } from '../transcriptions/service.ts';
import type { TaskRecord } from '../../../store/tasks.ts';
import type { TranscriptionPartRecord } from '../../../store/transcriptions.ts';

const parseMetadata = ({ metadata }: TranscriptionPartRecord): AudioMetadata | undefined =>
  metadata === undefined ? undefined : (JSON.parse(metadata) as AudioMetadata);

interface TranscriptionTaskContent {
  readonly parts: readonly TranscriptionPartRecord[];
  /** The request named a single audio file instead of a list. */
  readonly wantsOne: boolean;
  readonly createLink: (part: TranscriptionPartRecord) => string;
}

/** Encodes a task's output (docs/wire/dashscope-native.md#transcription). A running task reports its counts only. */
export function encodeTranscriptionTask(
  { status }: Pick<TaskRecord, 'status'>,
  { parts, wantsOne, createLink }: TranscriptionTaskContent,
): Pick<Task, 'output' | 'usage'> {
  const count = (state: TranscriptionPartRecord['state']): number =>
    parts.filter((part) => part.state === state).length;
  const metrics = { task_metrics: { TOTAL: parts.length, SUCCEEDED: count('succeeded'), FAILED: count('failed') } };
  if (status === 'running') return { output: metrics };
  if (status !== 'succeeded' && status !== 'failed') return { output: {} };
  const processed = parts.filter(({ state }) => state !== 'waiting');
  const [first] = processed;
  const isOne = wantsOne && first?.state === 'succeeded';
  const seconds = parts.reduce((sum, part) => sum + Math.ceil((parseMetadata(part)?.durationMs ?? 0) / 1_000), 0);
  return {
    output: {
      ...(isOne ? { result: { transcription_url: createLink(first) } } : {}),
      ...(wantsOne ? {} : { results: processed.map((part) => encodePart(part, createLink)) }),
      ...metrics,
      // If no audio was transcribed, the task reports the first audio's error.
      ...(status === 'failed' && first?.state === 'failed' ? { code: first.code, message: first.message } : {}),
    },
    usage: { duration: seconds },
  };
}

const encodePart = (part: TranscriptionPartRecord, linkOf: TranscriptionTaskContent['createLink']): object =>
  part.state === 'succeeded'
    ? { file_url: part.source, transcription_url: linkOf(part), subtask_status: 'SUCCEEDED' }
    : { file_url: part.source, code: part.code ?? '', message: part.message ?? '', subtask_status: 'FAILED' };

/** Encodes the transcript of one audio file (docs/wire/dashscope-native.md#transcription). */
export async function encodeTranscript(
  taskId: string,
  part: TranscriptionPartRecord,
  { sentences }: Pick<Transcriptions, 'sentences'>,
): Promise<object> {
  const metadata = parseMetadata(part);
  const channels = metadata?.channels ?? [];
  return {
    file_url: part.source,
    properties: {
      audio_format: metadata?.format ?? '',
      channels,
      original_sampling_rate: metadata?.sampleRate ?? 0,
      original_duration_in_milliseconds: metadata?.durationMs ?? 0,
    },
    transcripts: await Promise.all(
      channels.map(async (channel) => encodeChannel(channel, await sentences({ taskId, part: part.number, channel }))),
    ),
  };
}

const encodeChannel = (channel: number, sentences: readonly TranscriptSentence[]): object => ({
  channel_id: channel,
  content_duration_in_milliseconds: sentences.reduce((sum, { beginMs, endMs }) => sum + endMs - beginMs, 0),
  text: joinSentences(sentences),
  sentences: sentences.map(({ beginMs, endMs, text, words }, index) => ({
    begin_time: beginMs,
    end_time: endMs,
    text,
    sentence_id: index + 1,
    speaker_id: null,
    words: words.map(encodeWord),
  })),
});

/** Joins sentences with spaces, except in languages that write no spaces between words. */
const joinSentences = (sentences: readonly TranscriptSentence[]): string =>
  sentences
    .map(({ text, language }) => text + (LANGUAGES_WITHOUT_SPACES.has(language) ? '' : ' '))
    .join('')
    .trim();

const LANGUAGES_WITHOUT_SPACES: ReadonlySet<string> = new Set(['zh', 'ja', 'yue', 'th', 'lo', 'my', 'km']);

const encodeWord = ({ beginMs, endMs, text, punctuation }: RecognizedWord): object => ({
  begin_time: beginMs,
  end_time: endMs,
  text,
  punctuation,
});
