import { ANSWER_QUERY_CHARS_MAX } from './limits.ts';

/** Joins a query to one line and truncates it. Returns undefined when it contains no word. */
export function normalizeQuery(text: string): string | undefined {
  const line = text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  if (!/[\p{L}\p{N}]/u.test(line)) return undefined;
  return line.slice(0, ANSWER_QUERY_CHARS_MAX).toWellFormed();
}

/** Maps queries that differ only in punctuation, spaces and case to the same key. */
export const toQueryKey = (query: string): string =>
  query
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
