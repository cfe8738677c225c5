import { IGNORED_BYTES_MAX, IGNORED_NAMES_MAX } from './limits.ts';

/**
 * Encodes the `x-parley-ignored` header: names of request fields that were accepted but have no effect, percent-encoded
 * except for brackets, and comma-separated, the first 20 that fit in 1 KB. Returns no header for an empty list.
 */
export function encodeIgnoredHeader(names: readonly string[]): Readonly<Record<string, string>> {
  let value = '';
  let count = 0;
  for (const name of new Set(names)) {
    // A client may send half a surrogate pair in a name, which encodeURIComponent would reject.
    const encoded = encodeURIComponent(name.toWellFormed()).replaceAll('%5B', '[').replaceAll('%5D', ']');
    const extended = value === '' ? encoded : `${value},${encoded}`;
    if (extended.length > IGNORED_BYTES_MAX) continue;
    value = extended;
    if (++count === IGNORED_NAMES_MAX) break;
  }
  return value === '' ? {} : { 'x-parley-ignored': value };
}
