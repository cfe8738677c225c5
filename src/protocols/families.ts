import type { ProtocolFamily } from './endpoint.ts';
import type { FamilyErrorEncoder } from './family-errors.ts';
import type { EncodeFamilyHeaders } from './family-headers.ts';
import * as compatible from './compatible/errors.ts';
import * as messages from './messages/errors.ts';
import * as native from './native/errors.ts';
import { encodeNativeHeaders } from './native/headers.ts';

/** How a protocol family encodes errors and response headers. */
interface FamilyShape extends FamilyErrorEncoder {
  readonly headers?: EncodeFamilyHeaders;
}

export const FAMILIES: Record<ProtocolFamily, FamilyShape> = {
  compatible,
  messages,
  native: { ...native, headers: encodeNativeHeaders },
};

/**
 * Path prefixes, longest first: the deprecated responses path lies under `/api/` but belongs to the compatible family.
 */
const FAMILY_PREFIXES: readonly (readonly [string, ProtocolFamily])[] = [
  ['/api/v2/apps/protocols/compatible-mode', 'compatible'],
  ['/apps/anthropic', 'messages'],
  ['/v1/messages', 'messages'],
  ['/api-ws', 'native'],
  ['/api', 'native'],
];

/** Returns the protocol family of a path, also of an unknown path. A path without a listed prefix is compatible. */
export function resolveFamily(path: string): ProtocolFamily {
  for (const [prefix, family] of FAMILY_PREFIXES) {
    if (path === prefix || path.startsWith(`${prefix}/`) || path.startsWith(`${prefix}?`)) return family;
  }
  return 'compatible';
}
