import type { Family } from './endpoint.ts';
import type { FamilyErrors } from './family-errors.ts';
import type { HeadersOf } from './family-headers.ts';
import * as compatible from './compatible/errors.ts';
import * as messages from './messages/errors.ts';
import * as native from './native/errors.ts';
import { nativeHeaders } from './native/headers.ts';

/** How one protocol family answers, whatever it answers. */
interface FamilyShape extends FamilyErrors {
  readonly headers?: HeadersOf;
}

export const FAMILIES: Record<Family, FamilyShape> = {
  compatible,
  messages,
  native: { ...native, headers: nativeHeaders },
};

/** What the native family calls an error, for answers that are no HTTP bodies. */
export const nativeWordsOf = native.codeAndMessage;

/** Longest prefix first: the old responses path lies under `/api/` and is compatible all the same. */
const PREFIXES: readonly (readonly [string, Family])[] = [
  ['/api/v2/apps/protocols/compatible-mode', 'compatible'],
  ['/apps/anthropic', 'messages'],
  ['/api-ws', 'native'],
  ['/api', 'native'],
];

/** In whose shape a path is answered, known or not. Whatever belongs to nobody is compatible. */
export function familyOf(path: string): Family {
  for (const [prefix, family] of PREFIXES) {
    if (path === prefix || path.startsWith(`${prefix}/`) || path.startsWith(`${prefix}?`)) return family;
  }
  return 'compatible';
}
