import { z } from 'zod';
import { JSON_VALUES_MAX } from '../../../core/limits.ts';
import { TRANSCRIPTION_FILES_MAX, TRANSCRIPTION_CHANNELS_MAX } from '../limits.ts';
import { failFastArray } from '../../../protocols/fail-fast-array.ts';
import type { RuleTexts } from '../../../protocols/parse.ts';

// Fields of docs/wire/dashscope-native.md#transcription.

/** The URLs are checked in endpoints.ts, so that the error names the invalid one. */
const Input = z.object({
  file_urls: failFastArray(z.string(), { min: 1, max: TRANSCRIPTION_FILES_MAX }).nullish(),
  file_url: z.string().nullish(),
});

export const TranscriptionBody = z.object({
  model: z.string().min(1),
  input: Input,
  parameters: z
    .object({
      vocabulary_id: z.string().nullish(),
      channel_id: failFastArray(
        z
          .int()
          .min(0)
          .max(TRANSCRIPTION_CHANNELS_MAX - 1),
        { min: 1, max: TRANSCRIPTION_CHANNELS_MAX },
      ).nullish(),
      language_hints: failFastArray(z.string().regex(/^[a-z]{2,3}$/), { max: JSON_VALUES_MAX }).nullish(),
      disfluency_removal_enabled: z.boolean().nullish(),
      special_word_filter: z.union([z.string(), z.record(z.string(), z.unknown())]).nullish(),
      timestamp_alignment_enabled: z.boolean().nullish(),
      diarization_enabled: z.boolean().nullish(),
      speaker_count: z.int().nullish(),
      phrase_id: z.string().nullish(),
    })
    .nullish(),
  resources: z.array(z.unknown()).nullish(),
});
export type TranscriptionWire = z.output<typeof TranscriptionBody>;

const FILE_URLS_RULE = `input.file_urls must be an array of 1 to ${TRANSCRIPTION_FILES_MAX} URLs`;
const CHANNELS_RULE = `parameters.channel_id must be an array of channels, from 0 to ${TRANSCRIPTION_CHANNELS_MAX - 1}`;
const LANGUAGES_RULE = 'parameters.language_hints must be an array of language codes such as zh and en';

export const TRANSCRIPTION_TEXTS: RuleTexts = {
  'input.file_urls': FILE_URLS_RULE,
  'input.file_urls[]': FILE_URLS_RULE,
  'parameters.channel_id': CHANNELS_RULE,
  'parameters.channel_id[]': CHANNELS_RULE,
  'parameters.language_hints': LANGUAGES_RULE,
  'parameters.language_hints[]': LANGUAGES_RULE,
};
