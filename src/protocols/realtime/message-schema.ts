import { z } from 'zod';
import {
  AUDIO_RATE_MAX,
  AUDIO_RATE_MIN,
  LANGUAGE_HINTS_MAX,
  SENTENCE_SILENCE_MS_MAX,
  SENTENCE_SILENCE_MS_MIN,
} from '../../core/limits.ts';
import { listOf } from '../list-of.ts';
import { isPlainObject } from '../parse.ts';

// wire.md E7.3, from client to server. Null says that nothing was set.

/** A UUID, or the same without dashes. */
const TASK_ID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

const flag = z.boolean().nullish();

const contextPart = z.object({ type: z.enum(['input_text', 'text']), text: z.string() });

const contextInput = z
  .object({
    context: listOf(z.object({ role: z.enum(['user', 'assistant']), content: listOf(contextPart, { max: 1_000 }) }), {
      max: 1_000,
    }).nullish(),
  })
  .nullish();

/** What is spoken of, or was said before. */
export type ContextInput = z.infer<typeof contextInput>;

const parameters = z.object({
  format: z.string().min(1),
  sample_rate: z.int().min(AUDIO_RATE_MIN).max(AUDIO_RATE_MAX).nullish(),
  vocabulary_id: z.string().nullish(),
  /** Words and their weights. They are the caller's own text: what is wrong with them is said without naming them as fields. */
  vocabulary: z.custom<Readonly<Record<string, unknown>>>(isPlainObject, { error: 'must be an object' }).nullish(),
  language_hints: listOf(z.string().regex(/^[A-Za-z]{2,3}$/), { max: LANGUAGE_HINTS_MAX }).nullish(),
  semantic_punctuation_enabled: flag,
  max_sentence_silence: z.int().min(SENTENCE_SILENCE_MS_MIN).max(SENTENCE_SILENCE_MS_MAX).nullish(),
  multi_threshold_mode_enabled: flag,
  punctuation_prediction_enabled: flag,
  heartbeat: flag,
  inverse_text_normalization_enabled: flag,
  disfluency_removal_enabled: flag,
  speech_noise_threshold: z.number().min(-1).max(1).nullish(),
  /** A mapping as text: clients send it so. */
  special_word_filter: z.union([z.string(), z.record(z.string(), z.unknown())]).nullish(),
  diarization_enabled: flag,
  speaker_count: z.int().min(1).nullish(),
  timestamp_alignment_enabled: flag,
  audio_event_detection_enabled: flag,
  /** Of the client's own bookkeeping. */
  pre_task_id: z.string().nullish(),
});
export type RealtimeParameters = z.infer<typeof parameters>;

const header = z.object({
  action: z.string(),
  task_id: z.string().regex(TASK_ID),
  streaming: z.literal('duplex').nullish(),
});

/** Of a message that may be wrong in everything else. */
export const NamedMessage = z.object({ header: z.object({ task_id: z.string().max(64) }) });

/** Of every message, before anybody knows what it is. */
export const AnyMessage = z.object({ header });

export const RunTaskMessage = z.object({
  header,
  payload: z.object({
    model: z.string().min(1),
    task_group: z.literal('audio').nullish(),
    task: z.literal('asr').nullish(),
    function: z.literal('recognition').nullish(),
    parameters,
    input: contextInput,
  }),
});
export type RunTask = z.infer<typeof RunTaskMessage>['payload'];

export const ContinueTaskMessage = z.object({ header, payload: z.object({ input: contextInput }) });

/** Texts for rules that the schema cannot word. */
export const MESSAGE_TEXTS = {
  'header.task_id': 'A task id is a UUID, with or without dashes.',
  'payload.parameters.language_hints[]': 'A language is named by its code of two or three letters.',
} as const;
