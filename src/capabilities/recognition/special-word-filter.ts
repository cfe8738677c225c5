import { z } from 'zod';
import type { WordFilter } from '../../core/speech.ts';
import { failFastArray } from '../../protocols/fail-fast-array.ts';
import { parseValue, createFieldError } from '../../protocols/parse.ts';

/** Parley's own limit: words in each list. Longer lists are rejected. */
const WORDS_MAX = 1_000;

const WordList = z.object({ word_list: failFastArray(z.string(), { max: WORDS_MAX }).nullish() }).nullish();

const SpecialWordFilter = z.object({
  filter_with_signed: WordList,
  filter_with_empty: WordList,
  system_reserved_filter: z.boolean().nullish(),
});

export interface SpecialWordOptions {
  readonly filter: WordFilter;
  /** The request also turned on the service's predefined list; Parley has none. */
  readonly requestsReservedFilter: boolean;
}

/**
 * Parses the words to mask or remove from a transcript.
 *
 * @param value The filter as an object, or as JSON text.
 * @param field Name of the field, for errors.
 * @throws ServiceError `invalid-request`.
 */
export function parseSpecialWords(
  value: string | Readonly<Record<string, unknown>>,
  field: string,
): SpecialWordOptions {
  const wire = parseValue(z.object({ [field]: SpecialWordFilter }), {
    [field]: typeof value === 'string' ? parseJson(value, field) : value,
  })[field];
  return {
    filter: {
      starred: wire?.filter_with_signed?.word_list ?? [],
      dropped: wire?.filter_with_empty?.word_list ?? [],
    },
    requestsReservedFilter: wire?.system_reserved_filter === true,
  };
}

function parseJson(text: string, field: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw createFieldError(field, `${field} must be a JSON object, or a string that contains one`, text);
  }
}
