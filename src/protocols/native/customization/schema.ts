import { z } from 'zod';
import { JSON_VALUES_MAX, PAGE_NUMBER_MAX, PAGE_SIZE_MAX } from '../../../core/limits.ts';
import { listOf } from '../../list-of.ts';
import type { RuleTexts } from '../../parse.ts';

// Specification, E7, and wire.md E7.1. Shapes alone: what an entry may be depends on its model, and is the resource's rule.

export const ACTIONS = [
  'create_vocabulary',
  'list_vocabulary',
  'query_vocabulary',
  'update_vocabulary',
  'delete_vocabulary',
] as const;

export type Action = (typeof ACTIONS)[number];

/** Which of the actions it is. */
export const CustomizationCall = z.object({
  model: z.literal('speech-biasing'),
  input: z.object({ action: z.string().min(1) }),
});

/** SDKs always send `parameters`, and always empty. */
const bodyOf = <Fields extends z.ZodRawShape>(fields: Fields) =>
  z.object({
    model: z.string(),
    input: z.object({ action: z.string(), ...fields }),
    parameters: z.object({}).nullish(),
  });

const Entries = listOf(z.object({ text: z.string(), weight: z.number(), lang: z.string().nullish() }), {
  // The resource counts them.
  max: JSON_VALUES_MAX,
});

export type EntryWire = z.output<typeof Entries>[number];

const id = z.string().min(1);

export const CreateBody = bodyOf({ target_model: z.string(), prefix: z.string(), vocabulary: Entries });
export const ListBody = bodyOf({
  prefix: z.string().nullish(),
  page_index: z.int().min(0).max(PAGE_NUMBER_MAX).nullish(),
  page_size: z.int().min(1).max(PAGE_SIZE_MAX).nullish(),
});
export const QueryBody = bodyOf({ vocabulary_id: id });
export const UpdateBody = bodyOf({ vocabulary_id: id, vocabulary: Entries });
export const DeleteBody = QueryBody;

export const customizationTexts: RuleTexts = {
  'input.page_index': `Range of page_index should be [0, ${PAGE_NUMBER_MAX}]`,
  'input.page_size': `Range of page_size should be [1, ${PAGE_SIZE_MAX}]`,
};

/** wire.md E7.1: some clients may send it; it says nothing here. */
export const HEARD = ['resources'] as const;

/** wire.md E7.1. */
export const PAGE_SIZE_DEFAULT = 10;
