import { TranscriptionForm, transcriptionFormTexts } from '../audio-transcriptions/schema.ts';
import type { RuleTexts } from '../../../protocols/parse.ts';

/** Form fields; a translation always is English, so it has no language. */
export const TranslationForm = TranscriptionForm.pick({
  model: true,
  prompt: true,
  response_format: true,
  temperature: true,
});

export const translationFormTexts: RuleTexts = transcriptionFormTexts;
