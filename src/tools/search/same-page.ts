import { siteOf } from '../web-address.ts';
import type { SearchResult } from './clean-found.ts';

/** Parameters of addresses that say where somebody came from, and nothing of what the page is. */
const TRACKING =
  /^(?:utm_\w+|fbclid|gclid|dclid|gbraid|wbraid|msclkid|yclid|twclid|ttclid|igshid|igsh|mc_cid|mc_eid|_ga|_gl|_hsenc|_hsmi|mkt_tok|ref_src|ref_url|spm|scm|vero_id|vero_conv|wickedid|oly_anon_id|oly_enc_id|cmpid|ncid|srsltid)$/i;

const INDEX_FILE = /\/index\.(?:html?|php)$/i;

/** Two results with the same key lead to one page, as far as their addresses tell. */
export function addressKey(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return text;
  for (const name of new Set(url.searchParams.keys())) if (TRACKING.test(name)) url.searchParams.delete(name);
  url.searchParams.sort();
  const path = url.pathname.replace(INDEX_FILE, '/').replace(/\/+$/, '');
  const port = url.port === '80' || url.port === '443' ? '' : url.port;
  return [siteOf(url), port === '' ? '' : `:${port}`, path, url.search].join('');
}

/** Ours: letters of a title that a site has once, more or less. Shorter ones (`Home`, `FAQ`) say nothing. */
const TITLE_LETTERS_MIN = 8;

/** Two results with the same key have the same title on one site. Undefined where that says nothing: documents of ours are of no site. */
export function titleKey({ title, url }: SearchResult): string | undefined {
  const parsed = URL.parse(url);
  const words = lettersOf(title);
  if (!parsed || parsed.hostname === '' || words.length < TITLE_LETTERS_MIN || title === url) return undefined;
  return `${siteOf(parsed)} ${words}`;
}

/** Ours: letters of a passage that are compared, the fewest that say something, and how many hashes stand for them. */
const LETTERS_MAX = 1_500;
const LETTERS_MIN = 60;
const SKETCH_SIZE = 64;
const PIECE_LETTERS = 6;

/** Ours: how much of two sketches has to be in both. */
const ALIKE_MIN = 0.9;

/** The smallest hashes of all pieces of a passage: of two passages they agree in as much as the passages do. */
export type PassageSketch = readonly number[];

/** Undefined for a passage that is too short to be known by its words. */
export function sketchOf({ passage }: SearchResult): PassageSketch | undefined {
  const letters = lettersOf(passage.slice(0, LETTERS_MAX * 2)).slice(0, LETTERS_MAX);
  if (letters.length < LETTERS_MIN) return undefined;
  const hashes = new Set<number>();
  for (let at = 0; at + PIECE_LETTERS <= letters.length; at++) hashes.add(hashOf(letters, at));
  return [...hashes].toSorted((a, b) => a - b).slice(0, SKETCH_SIZE);
}

/** Whether two passages are one text, up to a few words. */
export function isAlike(a: PassageSketch, b: PassageSketch): boolean {
  const union = [...new Set([...a, ...b])].toSorted((one, other) => one - other).slice(0, SKETCH_SIZE);
  const [inA, inB] = [new Set(a), new Set(b)];
  return union.filter((hash) => inA.has(hash) && inB.has(hash)).length >= union.length * ALIKE_MIN;
}

const lettersOf = (text: string): string => (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join('');

/** FNV-1a, mixed once more: its low values are not evenly spread. */
function hashOf(letters: string, at: number): number {
  let hash = 0x811c9dc5;
  for (let i = at; i < at + PIECE_LETTERS; i++) hash = Math.imul(hash ^ letters.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
