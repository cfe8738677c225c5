import { z } from 'zod';
import { TRANSCRIPTION_PROMPT_CHARS_MAX } from '../limits.ts';
import { failFastArray } from '../../../protocols/fail-fast-array.ts';
import type { RuleTexts } from '../../../protocols/parse.ts';

const RESPONSE_FORMATS = ['json', 'text', 'srt', 'vtt', 'verbose_json'] as const;
export type ResponseFormat = (typeof RESPONSE_FORMATS)[number];

/** Formats that a stream supports; its events are the same for each (docs/wire/openai-compatible.md#audio-transcriptions). */
export const STREAM_FORMATS: readonly ResponseFormat[] = ['json', 'text'];

/** Form fields. A list field is sent once for each element, optionally with `[]` after its name. */
export const TranscriptionForm = z.object({
  model: z.string().min(1),
  language: z
    .string()
    .regex(/^[a-z]{2,3}$/)
    .optional(),
  prompt: z.string().max(TRANSCRIPTION_PROMPT_CHARS_MAX).optional(),
  response_format: z.enum(RESPONSE_FORMATS).default('json'),
  temperature: z.coerce.number().min(0).max(1).optional(),
  stream: z.stringbool().default(false),
  vocabulary_id: z.string().optional(),
  timestamp_granularities: failFastArray(z.enum(['word', 'segment']), { max: 2 }).optional(),
});

const GRANULARITIES = 'timestamp_granularities must be word, segment or both';

export const transcriptionFormTexts: RuleTexts = {
  language: 'language must be a code of ISO 639-1, such as en',
  prompt: `prompt must have at most ${TRANSCRIPTION_PROMPT_CHARS_MAX} characters`,
  response_format: `response_format must be one of ${RESPONSE_FORMATS.join(', ')}`,
  temperature: 'temperature must be a number from 0 to 1',
  stream: 'stream must be true or false',
  timestamp_granularities: GRANULARITIES,
  'timestamp_granularities[]': GRANULARITIES,
};

const LISTS: ReadonlySet<string> = new Set(['timestamp_granularities']);

/** Collects form fields for the schema: all values of a list field, the last value of any other. */
export function collectFormFields(fields: ReadonlyMap<string, readonly string[]>): Readonly<Record<string, unknown>> {
  const form = new Map<string, unknown>();
  for (const [name, values] of fields) {
    const plain = name.replace(/\[\]$/, '');
    form.set(plain, LISTS.has(plain) ? values : values.at(-1));
  }
  return Object.fromEntries(form);
}
