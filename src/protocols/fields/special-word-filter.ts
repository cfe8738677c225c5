import { z } from 'zod';
import type { WordFilter } from '../../transcription/clean-words.ts';
import { listOf } from '../list-of.ts';
import { parse, refuse } from '../parse.ts';

/** Ours: words of each list. Beyond: refused. */
const WORDS_MAX = 1_000;

const words = z.object({ word_list: listOf(z.string(), { max: WORDS_MAX }).nullish() }).nullish();

const SpecialWordFilter = z.object({
  filter_with_signed: words,
  filter_with_empty: words,
  system_reserved_filter: z.boolean().nullish(),
});

export interface SpecialWords {
  readonly filter: WordFilter;
  /** The service's own list was asked for, too. There is none here. */
  readonly wantsReserved: boolean;
}

/**
 * The words that a caller of speech recognition does not want to read, as a mapping or as the text of one.
 *
 * @param at Where it stands, for refusals. @throws ServiceError `invalid-request`.
 */
export function readSpecialWords(value: string | Readonly<Record<string, unknown>>, at: string): SpecialWords {
  const wire = parse(z.object({ [at]: SpecialWordFilter }), {
    [at]: typeof value === 'string' ? read(value, at) : value,
  })[at];
  return {
    filter: {
      starred: wire?.filter_with_signed?.word_list ?? [],
      dropped: wire?.filter_with_empty?.word_list ?? [],
    },
    wantsReserved: wire?.system_reserved_filter === true,
  };
}

function read(text: string, at: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refuse(at, 'It must be a JSON object, as text or as it is.', text);
  }
}
