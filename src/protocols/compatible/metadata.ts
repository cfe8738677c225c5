import type { Metadata } from '../../core/item.ts';
import { createMissingParameterError, createFieldError } from '../parse.ts';
import { isRecord } from '../../lib/is-record.ts';

/**
 * Decodes the `metadata` object of a resource; absent and null mean empty. The resources check its limits.
 * @param field Name of the field, for errors.
 * @throws ServiceError `invalid-request` for anything but an object of strings.
 */
export function decodeMetadata(wire: unknown, field: string): Metadata {
  if (wire === undefined || wire === null) return new Map();
  if (!isRecord(wire)) throw createFieldError(field, `${field} must be an object`, wire);
  const metadata = new Map<string, string>();
  for (const [key, value] of Object.entries(wire)) {
    if (typeof value !== 'string')
      throw createFieldError(`${field}.${key.slice(0, KEY_CHARS_SHOWN).toWellFormed()}`, VALUE_RULE, value);
    metadata.set(key, value);
  }
  return metadata;
}

/** Decodes a `metadata` field that is required. */
export function decodeRequiredMetadata(wire: unknown, field: string): Metadata {
  if (wire === undefined || wire === null) throw createMissingParameterError(field);
  return decodeMetadata(wire, field);
}

const VALUE_RULE = 'A value of metadata must be a string';
const KEY_CHARS_SHOWN = 64;

/** Encodes metadata as a JSON object; a key named `__proto__` is kept. */
export const encodeMetadata = (metadata: Metadata): object => Object.fromEntries(metadata);
