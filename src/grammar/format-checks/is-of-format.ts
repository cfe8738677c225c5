import { isIPv4, isIPv6 } from 'node:net';
import { isDate, isDateTime, isDuration, isTime } from './is-date-time.ts';
import { isHostName, isInternationalizedHostName } from './is-host-name.ts';
import { isInternationalizedMailbox, isMailbox } from './is-mailbox.ts';
import { isIri, isIriReference, isUri, isUriReference, isUriTemplate } from './is-uri.ts';

/**
 * The checks of the formats of JSON Schema (draft 2020-12, section 7.3) and of OpenAPI's `byte`, each by the standard
 * that defines the format. They share nothing with the automata of format-to-automaton.ts, so that neither hides a
 * mistake of the other ([decision 0060](../../../docs/decisions/0060-formats.md)). Each takes linear time, or looks at a bounded text.
 */
const CHECKS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['date', isDate],
  ['time', isTime],
  ['date-time', isDateTime],
  ['duration', isDuration],
  ['email', isMailbox],
  ['idn-email', isInternationalizedMailbox],
  ['hostname', isHostName],
  ['idn-hostname', isInternationalizedHostName],
  ['ipv4', isIPv4],
  // Node allows a zone, which RFC 4291 does not have.
  ['ipv6', (text) => isIPv6(text) && !text.includes('%')],
  ['uuid', (text) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)],
  ['uri', isUri],
  ['uri-reference', isUriReference],
  ['iri', isIri],
  ['iri-reference', isIriReference],
  ['uri-template', isUriTemplate],
  ['json-pointer', isJsonPointer],
  ['relative-json-pointer', isRelativeJsonPointer],
  ['regex', isRegularExpression],
  ['byte', isBase64],
]);

/** The formats that are checked. Others only describe a value. */
export const FORMATS: ReadonlySet<string> = new Set(CHECKS.keys());

/** Tells whether a text has a format; true for a format that only describes. */
export const isOfFormat = (text: string, format: string): boolean => CHECKS.get(format)?.(text) ?? true;

/** RFC 6901, section 3. */
function isJsonPointer(text: string): boolean {
  return (text === '' || text.startsWith('/')) && !/~(?![01])/.test(text);
}

/** draft-bhutton-relative-json-pointer-00, section 3. */
function isRelativeJsonPointer(text: string): boolean {
  const rest = /^(?:0|[1-9][0-9]*)(?:[+-][1-9][0-9]*)?(.*)$/s.exec(text)?.[1];
  return rest !== undefined && (rest === '#' || isJsonPointer(rest));
}

/** ECMA-262, in Unicode mode. The expression is parsed and never run. */
function isRegularExpression(text: string): boolean {
  if (text.length > REGULAR_EXPRESSION_CHARS_MAX) return false;
  try {
    return new RegExp(text, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

/** A longer expression is not valid: parsing one takes time and stack. */
const REGULAR_EXPRESSION_CHARS_MAX = 10_000;

/** RFC 4648, section 4. The unused bits of the last character may have any value. */
function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}
