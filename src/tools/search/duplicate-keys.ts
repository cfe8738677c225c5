import { getSite } from '../web-url.ts';
import type { SearchResult } from './clean-results.ts';

/** URL parameters that track where a visitor came from and do not affect the page. */
const TRACKING_PARAMETER =
  /^(?:utm_\w+|fbclid|gclid|dclid|gbraid|wbraid|msclkid|yclid|twclid|ttclid|igshid|igsh|mc_cid|mc_eid|_ga|_gl|_hsenc|_hsmi|mkt_tok|ref_src|ref_url|spm|scm|vero_id|vero_conv|wickedid|oly_anon_id|oly_enc_id|cmpid|ncid|srsltid)$/i;

const INDEX_FILE = /\/index\.(?:html?|php)$/i;

/** Returns a key that is equal for URLs of the same page, as far as URLs alone can tell. */
export function getUrlKey(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return text;
  for (const name of new Set(url.searchParams.keys())) if (TRACKING_PARAMETER.test(name)) url.searchParams.delete(name);
  url.searchParams.sort();
  const path = url.pathname.replace(INDEX_FILE, '/').replace(/\/+$/, '');
  const port = url.port === '80' || url.port === '443' ? '' : url.port;
  return [getSite(url), port === '' ? '' : `:${port}`, path, url.search].join('');
}

/** Chosen: minimum letters of a distinctive title. Shorter ones (`Home`, `FAQ`) occur on many pages of a site. */
const TITLE_LETTERS_MIN = 8;

/** Returns a key of site and title, or undefined if the title is not distinctive or the URL has no host. */
export function getTitleKey({ title, url }: SearchResult): string | undefined {
  const parsed = URL.parse(url);
  const letters = getLetters(title);
  if (!parsed || parsed.hostname === '' || letters.length < TITLE_LETTERS_MIN || title === url) return undefined;
  return `${getSite(parsed)} ${letters}`;
}

/** Chosen: letters of a passage to compare, the minimum for a comparison, and hashes per sketch. */
const LETTERS_MAX = 1_500;
const LETTERS_MIN = 60;
const SKETCH_SIZE = 64;
const SHINGLE_LETTERS = 6;

/** Chosen: minimum share of common hashes (Jaccard similarity) of duplicates. */
const SIMILARITY_MIN = 0.9;

/** MinHash sketch: the smallest hashes of all shingles of a passage. Sketches overlap as much as the passages do. */
export type PassageSketch = readonly number[];

/** Returns undefined for a passage that is too short to compare. */
export function createPassageSketch({ passage }: SearchResult): PassageSketch | undefined {
  const letters = getLetters(passage.slice(0, LETTERS_MAX * 2)).slice(0, LETTERS_MAX);
  if (letters.length < LETTERS_MIN) return undefined;
  const hashes = new Set<number>();
  for (let at = 0; at + SHINGLE_LETTERS <= letters.length; at++) hashes.add(hashLetters(letters, at));
  return [...hashes].toSorted((a, b) => a - b).slice(0, SKETCH_SIZE);
}

/** Whether two passages are the same text except for a few words. */
export function areSimilar(a: PassageSketch, b: PassageSketch): boolean {
  const union = [...new Set([...a, ...b])].toSorted((one, other) => one - other).slice(0, SKETCH_SIZE);
  const [inA, inB] = [new Set(a), new Set(b)];
  return union.filter((hash) => inA.has(hash) && inB.has(hash)).length >= union.length * SIMILARITY_MIN;
}

const getLetters = (text: string): string => (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join('');

/** FNV-1a with a final mixing step, because its low values are not evenly distributed. */
function hashLetters(letters: string, at: number): number {
  let hash = 0x811c9dc5;
  for (let i = at; i < at + SHINGLE_LETTERS; i++) hash = Math.imul(hash ^ letters.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
