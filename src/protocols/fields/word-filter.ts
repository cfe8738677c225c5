import { z } from 'zod';
import { WORD_FILTER_CHARACTERS_MAX, WORD_FILTER_WORDS_MAX } from '../../core/limits.ts';
import type { WordFilter } from '../../core/speech.ts';
import { isPresent } from '../../lib/present.ts';
import { listOf } from '../list-of.ts';
import { refuse } from '../parse.ts';

const Words = z
  .object({ word_list: listOf(z.string().min(1).max(WORD_FILTER_CHARACTERS_MAX), { max: WORD_FILTER_WORDS_MAX }) })
  .nullish();

const Filter = z.object({
  filter_with_signed: Words,
  filter_with_empty: Words,
  system_reserved_filter: z.boolean().nullish(),
});

interface ReadFilter {
  readonly filter?: WordFilter;
  /** There is no list of words of ours. */
  readonly ignored: readonly string[];
}

/** `special_word_filter` of recognition: an object, or its JSON as a string. @throws ServiceError `invalid-request`. */
export function readWordFilter(value: unknown, at: string): ReadFilter {
  if (!isPresent(value) || value === '') return { ignored: [] };
  const parsed = Filter.safeParse(typeof value === 'string' ? jsonOf(value) : value);
  if (!parsed.success) {
    throw refuse(at, `${at} must have filter_with_signed and filter_with_empty with a word_list each`, value);
  }
  const { filter_with_signed, filter_with_empty, system_reserved_filter } = parsed.data;
  return {
    filter: { starred: filter_with_signed?.word_list ?? [], dropped: filter_with_empty?.word_list ?? [] },
    ignored: system_reserved_filter ? [`${at}.system_reserved_filter`] : [],
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
