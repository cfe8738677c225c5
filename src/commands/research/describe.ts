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

/** The address as a link may have it, or undefined where it is not one of the web. */
export function webAddress(url: string): string | undefined {
  const parsed = URL.parse(url);
  return parsed?.protocol === 'http:' || parsed?.protocol === 'https:' ? parsed.href : undefined;
}

/** Whose page it is: its host, or what stands for the local index where a document has no address. */
export function hostOf(url: string, localIndex = 'local index'): string {
  if (webAddress(url) === undefined) return url.startsWith(INDEX) ? localIndex : '';
  return (URL.parse(url)?.host ?? '').replace(/^www\./, '');
}

const INDEX = 'parley-index:';

/** The end of where a document of the local index stands: its folder and its name. '' for pages. */
export function indexNameOf(url: string): string {
  if (!url.startsWith(INDEX)) return '';
  const path = url.slice(INDEX.length);
  try {
    return decodeURIComponent(path).split('/').slice(-2).join('/');
  } catch {
    return path;
  }
}

/** Pages may have anything in their titles: one line, and nothing that a terminal obeys. */
export const oneLine = (text: string): string => visibleText(text).replaceAll(/\s+/g, ' ').trim();
