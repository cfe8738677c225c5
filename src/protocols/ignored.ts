import { IGNORED_BYTES_MAX, IGNORED_NAMES_MAX } from '../core/limits.ts';

/**
 * The header that names what was accepted and not honoured: percent-encoded names, comma-separated, the first 20 that
 * fit in 1 KB. No names, no header.
 */
export function ignoredHeader(names: readonly string[]): Readonly<Record<string, string>> {
  let value = '';
  let count = 0;
  for (const name of new Set(names)) {
    // A caller may send half a surrogate pair as a name; what is no text cannot be encoded.
    const next = encodeURIComponent(name.toWellFormed());
    const longer = value === '' ? next : `${value},${next}`;
    if (longer.length > IGNORED_BYTES_MAX) continue;
    value = longer;
    if (++count === IGNORED_NAMES_MAX) break;
  }
  return value === '' ? {} : { 'x-parley-ignored': value };
}
