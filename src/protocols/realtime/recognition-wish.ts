import {
  HOTWORD_CODE_POINTS_MAX,
  HOTWORD_WEIGHT_MAX,
  REALTIME_HOTWORDS_MAX,
  REALTIME_PARTIAL_MS,
  SENTENCE_SILENCE_MS_DEFAULT,
} from '../../core/limits.ts';
import { SPEECH_SAMPLE_RATE } from '../../core/speech.ts';
import type { Hotword } from '../../core/speech.ts';
import { present } from '../../lib/present.ts';
import type { CleaningRules } from '../../transcription/clean-words.ts';
import type { LiveRules } from '../../transcription/live.ts';
import { readSpecialWords } from '../fields/special-word-filter.ts';
import { refuse } from '../parse.ts';
import type { ContextInput, RealtimeParameters } from './message-schema.ts';

/** What a recognition is to be like. */
export interface RecognitionWish {
  readonly format: string;
  readonly sampleRate: number;
  /** ISO 639-1; empty: any. */
  readonly languages: readonly string[];
  /** Those that came with it. */
  readonly hotwords: readonly Hotword[];
  readonly vocabularyId?: string;
  readonly rules: LiveRules;
  readonly cleaning: CleaningRules;
  /** Silence does not end it, and the client hears of us meanwhile. */
  readonly hasHeartbeat: boolean;
  /** Asked for, and not done. */
  readonly ignored: readonly string[];
}

/** wire.md E7.3. @throws ServiceError `invalid-request`. */
export function readRecognitionWish(wire: RealtimeParameters): RecognitionWish {
  const at = 'payload.parameters.special_word_filter';
  const special = wire.special_word_filter ? readSpecialWords(wire.special_word_filter, at) : undefined;
  return {
    format: wire.format.toLowerCase(),
    sampleRate: wire.sample_rate ?? SPEECH_SAMPLE_RATE,
    languages: (wire.language_hints ?? []).map((each) => each.toLowerCase()),
    hotwords: hotwordsOf(wire.vocabulary ?? {}),
    ...(wire.vocabulary_id ? { vocabularyId: wire.vocabulary_id } : {}),
    rules: {
      pauseMs: wire.max_sentence_silence ?? SENTENCE_SILENCE_MS_DEFAULT,
      partialMs: REALTIME_PARTIAL_MS,
      splitsSentences: wire.semantic_punctuation_enabled === true,
    },
    cleaning: present({
      filter: special?.filter,
      dropsFillers: wire.disfluency_removal_enabled,
      dropsPunctuation: wire.punctuation_prediction_enabled === false,
    }),
    hasHeartbeat: wire.heartbeat === true,
    ignored: [
      ...(special?.wantsReserved ? ['parameters.special_word_filter.system_reserved_filter'] : []),
      ...ignoredWishes(wire),
    ],
  };
}

function hotwordsOf(vocabulary: Readonly<Record<string, unknown>>): readonly Hotword[] {
  const at = 'payload.parameters.vocabulary';
  const words = Object.entries(vocabulary);
  if (words.length > REALTIME_HOTWORDS_MAX)
    throw refuse(at, `A vocabulary has at most ${REALTIME_HOTWORDS_MAX} words.`, `${words.length} words`);
  return words.map(([word, weight]) => {
    const text = word.trim();
    if (text === '' || [...text].length > HOTWORD_CODE_POINTS_MAX)
      throw refuse(at, `A word of a vocabulary has 1 to ${HOTWORD_CODE_POINTS_MAX} characters.`, word);
    if (typeof weight !== 'number' || !Number.isInteger(weight) || weight < 1 || weight > HOTWORD_WEIGHT_MAX)
      throw refuse(at, `The weight of a word is a whole number from 1 to ${HOTWORD_WEIGHT_MAX}.`, weight);
    return { text, weight };
  });
}

/** What is sent though nothing is asked for by it is not named: clients send their defaults. */
const ignoredWishes = (wire: RealtimeParameters): readonly string[] =>
  [
    ...(wire.multi_threshold_mode_enabled === true ? ['multi_threshold_mode_enabled'] : []),
    ...(wire.inverse_text_normalization_enabled === false ? ['inverse_text_normalization_enabled'] : []),
    ...(wire.speech_noise_threshold ? ['speech_noise_threshold'] : []),
    ...(wire.diarization_enabled === true ? ['diarization_enabled'] : []),
    ...(wire.speaker_count && wire.diarization_enabled === true ? ['speaker_count'] : []),
    ...(wire.timestamp_alignment_enabled === true ? ['timestamp_alignment_enabled'] : []),
    ...(wire.audio_event_detection_enabled === true ? ['audio_event_detection_enabled'] : []),
  ].map((name) => `parameters.${name}`);

/** What was said before or is spoken of, as one text. */
export const contextOf = (input: ContextInput): string =>
  (input?.context ?? [])
    .flatMap(({ content }) => content.map(({ text }) => text.trim()))
    .filter((text) => text !== '')
    .join(' ');
