import { deflateRawSync } from 'node:zlib';
import type { AudioMetadata, TranscriptSentence } from '../../../core/speech.ts';
import type { SpeechTask } from '../../../engines/speech-engine.ts';
import type { ResponseFormat } from './schema.ts';

/** A sentence with the model's confidence for its audio segment. */
export interface ScoredSentence extends TranscriptSentence {
  readonly logProbability: number;
  readonly noSpeech: number;
}

export interface UploadTranscript {
  readonly sentences: readonly ScoredSentence[];
  readonly audioMetadata: Pick<AudioMetadata, 'durationMs'>;
  readonly task: SpeechTask;
  readonly granularities: readonly ('word' | 'segment')[];
}

type TextBody = { readonly type: string; readonly text: string };
type EncodedTranscription = { readonly json: object } | { readonly text: TextBody };

/** Encodes a transcript in the requested format. */
export function encodeTranscription(format: ResponseFormat, transcript: UploadTranscript): EncodedTranscription {
  const { sentences } = transcript;
  if (format === 'json') return { json: { text: joinSentences(sentences), usage: encodeUsage(transcript) } };
  if (format === 'verbose_json') return { json: encodeVerbose(transcript) };
  if (format === 'text') return { text: { type: 'text/plain; charset=utf-8', text: `${joinSentences(sentences)}\n` } };
  if (format === 'srt') return { text: { type: 'application/x-subrip; charset=utf-8', text: encodeSrt(sentences) } };
  return { text: { type: 'text/vtt; charset=utf-8', text: encodeVtt(sentences) } };
}

export const encodeUsage = ({ audioMetadata }: Pick<UploadTranscript, 'audioMetadata'>): object => ({
  type: 'duration',
  seconds: Math.ceil(audioMetadata.durationMs / 1_000),
});

const toSeconds = (ms: number): number => ms / 1_000;

function encodeVerbose(transcript: UploadTranscript): object {
  const { sentences, audioMetadata, granularities, task } = transcript;
  return {
    task,
    language: getLanguageName(task === 'translate' ? 'en' : sentences[0]?.language),
    duration: toSeconds(audioMetadata.durationMs),
    text: joinSentences(sentences),
    ...(granularities.includes('word')
      ? {
          words: sentences.flatMap(({ words }) =>
            words.map(({ text, beginMs, endMs }) => ({
              word: text.trim(),
              start: toSeconds(beginMs),
              end: toSeconds(endMs),
            })),
          ),
        }
      : {}),
    ...(granularities.length === 0 || granularities.includes('segment')
      ? { segments: sentences.map(encodeSegment) }
      : {}),
    usage: encodeUsage(transcript),
  };
}

const encodeSegment = ({ text, beginMs, endMs, logProbability, noSpeech }: ScoredSentence, id: number): object => ({
  id,
  // `seek` counts hundredths of a second, the frames of the Whisper models.
  seek: Math.floor(beginMs / 10),
  start: toSeconds(beginMs),
  end: toSeconds(endMs),
  text,
  tokens: [],
  temperature: 0,
  avg_logprob: logProbability,
  compression_ratio: getCompressionRatio(text),
  no_speech_prob: noSpeech,
});

/** Returns the compression ratio of a text; a text that repeats itself has far more than 2. */
const getCompressionRatio = (text: string): number => {
  const bytes = Buffer.from(text);
  return bytes.length / deflateRawSync(bytes).length;
};

const NAMES = new Intl.DisplayNames(['en'], { type: 'language' });

/** Returns the English name of a language in lower case; '' for an empty transcript. */
const getLanguageName = (language: string | undefined): string =>
  (language === undefined ? '' : (NAMES.of(language) ?? language)).toLowerCase();

/** Languages that are written without spaces between words and sentences. */
const LANGUAGES_WITHOUT_SPACES: ReadonlySet<string> = new Set(['zh', 'ja', 'yue', 'th', 'lo', 'my', 'km']);

/** Returns the text between a sentence and the next one. */
export const getSentenceSeparator = ({ language }: Pick<TranscriptSentence, 'language'>): string =>
  LANGUAGES_WITHOUT_SPACES.has(language) ? '' : ' ';

const joinSentences = (sentences: readonly TranscriptSentence[]): string =>
  sentences
    .map((sentence) => sentence.text + getSentenceSeparator(sentence))
    .join('')
    .trim();

const encodeSrt = (sentences: readonly TranscriptSentence[]): string =>
  sentences
    .map(
      ({ text, beginMs, endMs }, at) =>
        `${at + 1}\n${formatClock(beginMs, ',')} --> ${formatClock(endMs, ',')}\n${text}\n\n`,
    )
    .join('');

/** Encodes WebVTT; characters that would end a cue or start a tag are escaped. */
const encodeVtt = (sentences: readonly TranscriptSentence[]): string =>
  `WEBVTT\n\n${sentences
    .map(
      ({ text, beginMs, endMs }) =>
        `${formatClock(beginMs, '.')} --> ${formatClock(endMs, '.')}\n${escapeCueText(text)}\n\n`,
    )
    .join('')}`;

const escapeCueText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Formats milliseconds as `HH:MM:SS` with fraction separator and three digits; hours may have more digits. */
function formatClock(ms: number, point: ',' | '.'): string {
  const parts = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, Math.floor(ms / 1_000) % 60];
  const clock = parts.map((part) => String(part).padStart(2, '0')).join(':');
  return `${clock}${point}${String(Math.floor(ms) % 1_000).padStart(3, '0')}`;
}
