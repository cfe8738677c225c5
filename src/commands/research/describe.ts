import { visibleText } from '../../lib/visible-text.ts';

const words = new Intl.Segmenter('en', { granularity: 'word' });

/** In any script; marks like `[[1]]` are none. */
export function countWords(text: string): number {
  let count = 0;
  for (const { isWordLike } of words.segment(text.replaceAll(/\[\[\d+\]\]/g, ''))) if (isWordLike) count += 1;
  return count;
}

export const formatCount = (count: number): string => count.toLocaleString('en-US');

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

/** `42 s`, `3 min 12 s`, `1 h 4 min`. */
export function formatElapsed(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** In words, of the day in UTC: `1 July 2026`. */
export const formatDay = (ms: number): string =>
  new Date(ms).toLocaleDateString('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'long', year: 'numeric' });

/** The address as a link may have it, or undefined where it is not one of the web. */
export function webAddress(url: string): string | undefined {
  const parsed = URL.parse(url);
  return parsed?.protocol === 'http:' || parsed?.protocol === 'https:' ? parsed.href : undefined;
}

/** Whose page it is: its host, or `local index` for a document that has no address. */
export function hostOf(url: string): string {
  if (webAddress(url) === undefined) return url.startsWith('parley-index:') ? 'local index' : '';
  return (URL.parse(url)?.host ?? '').replace(/^www\./, '');
}

/** Pages may have anything in their titles: one line, and nothing that a terminal obeys. */
export const oneLine = (text: string): string => visibleText(text).replaceAll(/\s+/g, ' ').trim();
