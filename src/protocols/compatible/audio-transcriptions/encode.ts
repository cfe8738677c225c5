import { deflateRawSync } from 'node:zlib';
import type { AudioFacts, Sentence } from '../../../core/speech.ts';
import type { ResponseFormat } from './schema.ts';

/** A sentence, and what the model thought of the stretch of audio that it is from. */
export interface HeardSentence extends Sentence {
  readonly logProbability: number;
  readonly noSpeech: number;
}

export interface Heard {
  readonly sentences: readonly HeardSentence[];
  readonly facts: Pick<AudioFacts, 'durationMs'>;
  readonly granularities: readonly ('word' | 'segment')[];
}

type Text = { readonly type: string; readonly text: string };
type Encoded = { readonly json: object } | { readonly text: Text };

/** What was heard, in the form that was asked for. */
export function encodeTranscription(format: ResponseFormat, heard: Heard): Encoded {
  const { sentences } = heard;
  if (format === 'json') return { json: { text: textOf(sentences), usage: usageOf(heard) } };
  if (format === 'verbose_json') return { json: encodeVerbose(heard) };
  if (format === 'text') return { text: { type: 'text/plain; charset=utf-8', text: `${textOf(sentences)}\n` } };
  if (format === 'srt') return { text: { type: 'application/x-subrip; charset=utf-8', text: encodeSrt(sentences) } };
  return { text: { type: 'text/vtt; charset=utf-8', text: encodeVtt(sentences) } };
}

const usageOf = ({ facts }: Heard): object => ({ type: 'duration', seconds: Math.ceil(facts.durationMs / 1_000) });

const seconds = (ms: number): number => ms / 1_000;

function encodeVerbose(heard: Heard): object {
  const { sentences, facts, granularities } = heard;
  return {
    task: 'transcribe',
    language: nameOf(sentences[0]?.language),
    duration: seconds(facts.durationMs),
    text: textOf(sentences),
    ...(granularities.includes('word')
      ? {
          words: sentences.flatMap(({ words }) =>
            words.map(({ text, beginMs, endMs }) => ({
              word: text.trim(),
              start: seconds(beginMs),
              end: seconds(endMs),
            })),
          ),
        }
      : {}),
    ...(granularities.length === 0 || granularities.includes('segment')
      ? { segments: sentences.map(encodeSegment) }
      : {}),
    usage: usageOf(heard),
  };
}

const encodeSegment = ({ text, beginMs, endMs, logProbability, noSpeech }: HeardSentence, id: number): object => ({
  id,
  // Hundredths of a second, as the first models counted.
  seek: Math.floor(beginMs / 10),
  start: seconds(beginMs),
  end: seconds(endMs),
  text,
  tokens: [],
  temperature: 0,
  avg_logprob: logProbability,
  compression_ratio: compressionOf(text),
  no_speech_prob: noSpeech,
});

/** Far above 2 where a text repeats itself. */
const compressionOf = (text: string): number => {
  const bytes = Buffer.from(text);
  return bytes.length / deflateRawSync(bytes).length;
};

const NAMES = new Intl.DisplayNames(['en'], { type: 'language' });

/** Its English name in small letters; nothing where nothing was said. */
const nameOf = (language: string | undefined): string =>
  (language === undefined ? '' : (NAMES.of(language) ?? language)).toLowerCase();

/** Languages that need no blank between sentences have none between words. */
const BLANKLESS: ReadonlySet<string> = new Set(['zh', 'ja', 'yue', 'th', 'lo', 'my', 'km']);

const textOf = (sentences: readonly Sentence[]): string =>
  sentences
    .map(({ text, language }) => text + (BLANKLESS.has(language) ? '' : ' '))
    .join('')
    .trim();

const encodeSrt = (sentences: readonly Sentence[]): string =>
  sentences
    .map(
      ({ text, beginMs, endMs }, at) => `${at + 1}\n${clockOf(beginMs, ',')} --> ${clockOf(endMs, ',')}\n${text}\n\n`,
    )
    .join('');

/** What would end a cue, or begin a tag, is escaped. */
const encodeVtt = (sentences: readonly Sentence[]): string =>
  `WEBVTT\n\n${sentences
    .map(({ text, beginMs, endMs }) => `${clockOf(beginMs, '.')} --> ${clockOf(endMs, '.')}\n${escaped(text)}\n\n`)
    .join('')}`;

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** `HH:MM:SS` and milliseconds behind `point`; hours may have more digits. */
function clockOf(ms: number, point: ',' | '.'): string {
  const parts = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, Math.floor(ms / 1_000) % 60];
  const clock = parts.map((part) => String(part).padStart(2, '0')).join(':');
  return `${clock}${point}${String(Math.floor(ms) % 1_000).padStart(3, '0')}`;
}
