import type { Metadata } from '../../core/item.ts';
import { isPlainObject, missing, refuse } from '../parse.ts';
import { ServiceError } from '../../core/error.ts';

/**
 * What a caller notes beside an object; absent and null are nothing. Its limits are the resources' own rules.
 * @param at The field; refusals name it, or the pair in it.
 * @throws ServiceError `invalid-request` for anything but an object of strings.
 */
export function metadataOf(wire: unknown, at: string): Metadata {
  if (wire === undefined || wire === null) return new Map();
  if (!isPlainObject(wire)) throw refuse(at, `${at} must be an object`, wire);
  const metadata = new Map<string, string>();
  for (const [key, value] of Object.entries(wire)) {
    if (typeof value !== 'string') throw refuse(`${at}.${key.slice(0, KEY_CHARS_SHOWN).toWellFormed()}`, RULE, value);
    metadata.set(key, value);
  }
  return metadata;
}

/** The same where the field has to be there. */
export function requiredMetadataOf(wire: unknown, at: string): Metadata {
  if (wire === undefined || wire === null) throw new ServiceError('invalid-request', missing(at), { param: at });
  return metadataOf(wire, at);
}

const RULE = 'A value of metadata must be a string';
const KEY_CHARS_SHOWN = 64;

/** As JSON tells it; `__proto__` is a key like any other. */
export const encodeMetadata = (metadata: Metadata): object => Object.fromEntries(metadata);
