import { z } from 'zod';
import { JSON_VALUES_MAX } from '../../../core/limits.ts';
import { PAGE_NUMBER_MAX, PAGE_SIZE_MAX } from '../../../protocols/native/limits.ts';
import { failFastArray } from '../../../protocols/fail-fast-array.ts';
import type { RuleTexts } from '../../../protocols/parse.ts';

// Field types only (docs/wire/dashscope-native.md#vocabularies). The resource checks entries, because their rules
// depend on the model.

export const ACTIONS = [
  'create_vocabulary',
  'list_vocabulary',
  'query_vocabulary',
  'update_vocabulary',
  'delete_vocabulary',
] as const;

export type VocabularyAction = (typeof ACTIONS)[number];

/** Parsed first, because the other fields depend on the action. */
export const CustomizationCall = z.object({
  model: z.literal('speech-biasing'),
  input: z.object({ action: z.string().min(1) }),
});

/** Creates the schema of an action's body. SDKs always send `parameters`, always empty. */
const createBodySchema = <Fields extends z.ZodRawShape>(fields: Fields) =>
  z.object({
    model: z.string(),
    input: z.object({ action: z.string(), ...fields }),
    parameters: z.object({}).nullish(),
  });

const Entries = failFastArray(z.object({ text: z.string(), weight: z.number(), lang: z.string().nullish() }), {
  // The resource checks the number of entries.
  max: JSON_VALUES_MAX,
});

export type VocabularyEntryWire = z.output<typeof Entries>[number];

const id = z.string().min(1);

export const CreateBody = createBodySchema({ target_model: z.string(), prefix: z.string(), vocabulary: Entries });
export const ListBody = createBodySchema({
  prefix: z.string().nullish(),
  page_index: z.int().min(0).max(PAGE_NUMBER_MAX).nullish(),
  page_size: z.int().min(1).max(PAGE_SIZE_MAX).nullish(),
});
export const QueryBody = createBodySchema({ vocabulary_id: id });
export const UpdateBody = createBodySchema({ vocabulary_id: id, vocabulary: Entries });

export const CUSTOMIZATION_TEXTS: RuleTexts = {
  'input.page_index': `Range of page_index should be [0, ${PAGE_NUMBER_MAX}]`,
  'input.page_size': `Range of page_size should be [1, ${PAGE_SIZE_MAX}]`,
};

/** Fields that some clients may send; they have no effect. */
export const IGNORED_FIELDS = ['resources'] as const;

/** Default page size (docs/wire/dashscope-native.md#vocabularies). */
export const PAGE_SIZE_DEFAULT = 10;
