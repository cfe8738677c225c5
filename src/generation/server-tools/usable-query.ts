import { ANSWER_QUERY_CHARS_MAX } from '../../core/limits.ts';

/** A query in one line, cut where it is long; undefined where there is no word in it. */
export function usableQuery(text: string): string | undefined {
  const line = text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  if (!/[\p{L}\p{N}]/u.test(line)) return undefined;
  return line.slice(0, ANSWER_QUERY_CHARS_MAX).toWellFormed();
}

/** Two queries that differ in no letter or digit are the same. */
export const queryKey = (query: string): string =>
  query
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
