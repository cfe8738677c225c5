import { removeInvisibleCharacters } from '../../../lib/remove-invisible-characters.ts';

const wordSegmenter = new Intl.Segmenter('en', { granularity: 'word' });

/** Counts the words of a text in any script. Citation marks like `[[1]]` are not counted. */
export function countWords(text: string): number {
  let count = 0;
  for (const { isWordLike } of wordSegmenter.segment(text.replaceAll(/\[\[\d+\]\]/g, ''))) if (isWordLike) count += 1;
  return count;
}

export const formatCount = (count: number): string => count.toLocaleString('en-US');

export const formatQuantity = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

/** Formats a duration, e.g. `42 s`, `3 min 12 s`, `1 h 4 min`. */
export function formatElapsed(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Returns the normalized URL; undefined if it is not an http or https URL. */
export function parseWebUrl(url: string): string | undefined {
  const parsed = URL.parse(url);
  return parsed?.protocol === 'http:' || parsed?.protocol === 'https:' ? parsed.href : undefined;
}

/** Returns the host of a page, or `localIndex` for a document of the local index. */
export function getSourceHost(url: string, localIndex = 'local index'): string {
  if (parseWebUrl(url) === undefined) return url.startsWith(INDEX_SCHEME) ? localIndex : '';
  return (URL.parse(url)?.host ?? '').replace(/^www\./, '');
}

const INDEX_SCHEME = 'parley-index:';

/** Returns folder and file name of a document of the local index; '' for web pages. */
export function getIndexDocumentName(url: string): string {
  if (!url.startsWith(INDEX_SCHEME)) return '';
  const path = url.slice(INDEX_SCHEME.length);
  try {
    return decodeURIComponent(path).split('/').slice(-2).join('/');
  } catch {
    return path;
  }
}

/** Joins the lines of a text and removes control characters: titles of pages may contain anything. */
export const toSingleLine = (text: string): string => removeInvisibleCharacters(text).replaceAll(/\s+/g, ' ').trim();
