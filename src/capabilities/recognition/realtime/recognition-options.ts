import { HOTWORD_WEIGHT_MAX } from '../limits.ts';
import {
  REALTIME_HOTWORD_CODE_POINTS_MAX,
  REALTIME_HOTWORDS_MAX,
  REALTIME_PARTIAL_MS,
  SENTENCE_SILENCE_MS_DEFAULT,
} from './limits.ts';
import { SPEECH_SAMPLE_RATE } from '../../../core/speech.ts';
import type { Hotword } from '../../../core/speech.ts';
import { omitNullish } from '../../../lib/omit-nullish.ts';
import type { TranscriptFormatOptions } from '../../../core/speech.ts';
import type { LiveRecognitionOptions } from '../transcription/live-recognition.ts';
import { parseSpecialWords } from '../special-word-filter.ts';
import { createFieldError } from '../../../protocols/parse.ts';
import type { ContextInput, RealtimeParameters } from './message-schema.ts';

/** Options of a recognition. */
export interface RealtimeRecognitionOptions {
  readonly format: string;
  readonly sampleRate: number;
  /** Language codes (ISO 639-1); empty: any language. */
  readonly languages: readonly string[];
  /** Hotwords of the request itself. */
  readonly hotwords: readonly Hotword[];
  readonly vocabularyId?: string;
  readonly rules: LiveRecognitionOptions;
  readonly formatOptions: TranscriptFormatOptions;
  /** Silence does not end the recognition; the client receives heartbeats instead. */
  readonly hasHeartbeat: boolean;
  /** Parameters that request something without having an effect. */
  readonly ignored: readonly string[];
}

/** Converts the parameters (docs/wire/realtime.md#recognition-messages). @throws ServiceError `invalid-request`. */
export function decodeRecognitionOptions(wire: RealtimeParameters): RealtimeRecognitionOptions {
  const path = 'payload.parameters.special_word_filter';
  const specialWords = wire.special_word_filter ? parseSpecialWords(wire.special_word_filter, path) : undefined;
  return {
    format: wire.format.toLowerCase(),
    sampleRate: wire.sample_rate ?? SPEECH_SAMPLE_RATE,
    languages: (wire.language_hints ?? []).map((each) => each.toLowerCase()),
    hotwords: decodeHotwords(wire.vocabulary ?? {}),
    ...(wire.vocabulary_id ? { vocabularyId: wire.vocabulary_id } : {}),
    rules: {
      pauseMs: wire.max_sentence_silence ?? SENTENCE_SILENCE_MS_DEFAULT,
      partialIntervalMs: REALTIME_PARTIAL_MS,
      splitsSentences: wire.semantic_punctuation_enabled === true,
    },
    formatOptions: omitNullish({
      filter: specialWords?.filter,
      dropsFillers: wire.disfluency_removal_enabled,
      dropsPunctuation: wire.punctuation_prediction_enabled === false,
    }),
    hasHeartbeat: wire.heartbeat === true,
    ignored: [
      ...(specialWords?.requestsReservedFilter ? ['parameters.special_word_filter.system_reserved_filter'] : []),
      ...listIgnoredParameters(wire),
    ],
  };
}

function decodeHotwords(vocabulary: Readonly<Record<string, unknown>>): readonly Hotword[] {
  const path = 'payload.parameters.vocabulary';
  const words = Object.entries(vocabulary);
  if (words.length > REALTIME_HOTWORDS_MAX)
    throw createFieldError(
      path,
      `A vocabulary may have at most ${REALTIME_HOTWORDS_MAX} words.`,
      `${words.length} words`,
    );
  return words.map(([word, weight]) => {
    const text = word.trim();
    if (text === '' || [...text].length > REALTIME_HOTWORD_CODE_POINTS_MAX)
      throw createFieldError(
        path,
        `A word of a vocabulary must have 1 to ${REALTIME_HOTWORD_CODE_POINTS_MAX} characters.`,
        word,
      );
    if (typeof weight !== 'number' || !Number.isInteger(weight) || weight < 1 || weight > HOTWORD_WEIGHT_MAX)
      throw createFieldError(path, `The weight of a word must be an integer from 1 to ${HOTWORD_WEIGHT_MAX}.`, weight);
    return { text, weight };
  });
}

/** Lists parameters without effect, unless they have the default value: clients send their defaults. */
const listIgnoredParameters = (wire: RealtimeParameters): readonly string[] =>
  [
    ...(wire.multi_threshold_mode_enabled === true ? ['multi_threshold_mode_enabled'] : []),
    ...(wire.inverse_text_normalization_enabled === false ? ['inverse_text_normalization_enabled'] : []),
    ...(wire.speech_noise_threshold ? ['speech_noise_threshold'] : []),
    ...(wire.diarization_enabled === true ? ['diarization_enabled'] : []),
    ...(wire.speaker_count && wire.diarization_enabled === true ? ['speaker_count'] : []),
    ...(wire.timestamp_alignment_enabled === true ? ['timestamp_alignment_enabled'] : []),
    ...(wire.audio_event_detection_enabled === true ? ['audio_event_detection_enabled'] : []),
  ].map((name) => `parameters.${name}`);

/** Joins the context's texts. */
export const getContextText = (input: ContextInput): string =>
  (input?.context ?? [])
    .flatMap(({ content }) => content.map(({ text }) => text.trim()))
    .filter((text) => text !== '')
    .join(' ');
