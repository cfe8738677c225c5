import { z } from 'zod';
import { REALTIME_RATE_MAX, REALTIME_RATE_MIN } from '../limits.ts';
import { LANGUAGE_HINTS_MAX, SENTENCE_SILENCE_MS_MAX, SENTENCE_SILENCE_MS_MIN } from './limits.ts';
import { failFastArray } from '../../../protocols/fail-fast-array.ts';
import { isRecord } from '../../../lib/is-record.ts';

// Messages from client to server (docs/wire/realtime.md#recognition-messages). Null means not set.

/** A UUID with or without dashes. */
const TASK_ID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

const optionalFlag = z.boolean().nullish();

const contextPart = z.object({ type: z.enum(['input_text', 'text']), text: z.string() });

const contextInput = z
  .object({
    context: failFastArray(
      z.object({ role: z.enum(['user', 'assistant']), content: failFastArray(contextPart, { max: 1_000 }) }),
      {
        max: 1_000,
      },
    ).nullish(),
  })
  .nullish();

/** Text that gives the recognition context, such as the topic or earlier conversation. */
export type ContextInput = z.infer<typeof contextInput>;

const parameters = z.object({
  format: z.string().min(1),
  sample_rate: z.int().min(REALTIME_RATE_MIN).max(REALTIME_RATE_MAX).nullish(),
  vocabulary_id: z.string().nullish(),
  /** Weight by word. Words are user content, so errors do not name them as field paths. */
  vocabulary: z.custom<Readonly<Record<string, unknown>>>(isRecord, { error: 'must be an object' }).nullish(),
  language_hints: failFastArray(z.string().regex(/^[A-Za-z]{2,3}$/), { max: LANGUAGE_HINTS_MAX }).nullish(),
  semantic_punctuation_enabled: optionalFlag,
  max_sentence_silence: z.int().min(SENTENCE_SILENCE_MS_MIN).max(SENTENCE_SILENCE_MS_MAX).nullish(),
  multi_threshold_mode_enabled: optionalFlag,
  punctuation_prediction_enabled: optionalFlag,
  heartbeat: optionalFlag,
  inverse_text_normalization_enabled: optionalFlag,
  disfluency_removal_enabled: optionalFlag,
  speech_noise_threshold: z.number().min(-1).max(1).nullish(),
  /** JSON as a string: clients send it so. */
  special_word_filter: z.union([z.string(), z.record(z.string(), z.unknown())]).nullish(),
  diarization_enabled: optionalFlag,
  speaker_count: z.int().min(1).nullish(),
  timestamp_alignment_enabled: optionalFlag,
  audio_event_detection_enabled: optionalFlag,
  /** An id for the client's own use. */
  pre_task_id: z.string().nullish(),
});
export type RealtimeParameters = z.infer<typeof parameters>;

const header = z.object({
  action: z.string(),
  task_id: z.string().regex(TASK_ID),
  streaming: z.literal('duplex').nullish(),
});

/** Schema that finds the task id in a message that may be invalid otherwise. */
export const TaskIdMessage = z.object({ header: z.object({ task_id: z.string().max(64) }) });

/** Schema of the part that all messages share. */
export const HeaderMessage = z.object({ header });

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
export type RunTaskPayload = z.infer<typeof RunTaskMessage>['payload'];

export const ContinueTaskMessage = z.object({ header, payload: z.object({ input: contextInput }) });

/** Texts for rules that the schema cannot express in words. */
export const MESSAGE_TEXTS = {
  'header.task_id': 'A task id must be a UUID, with or without dashes.',
  'payload.parameters.language_hints[]': 'A language must be a code of two or three letters.',
} as const;
