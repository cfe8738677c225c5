import { isInternationalizedLabel } from './is-internationalized-label.ts';
import { decodePunycode, encodePunycode } from './punycode.ts';

const LABEL_CHARS_MAX = 63;
/** 255 octets, less the first length and the empty label at the end. */
const NAME_CHARS_MAX = 253;

/** Tells whether a text is a host name: RFC 1123, section 2.1; labels that begin with `xn--` are A-labels (RFC 5890). */
export const isHostName = (text: string): boolean =>
  text.length <= NAME_CHARS_MAX && text.split('.').every((label) => isAsciiLabel(label) && !isFakeEncodedLabel(label));

/** Tells whether a text is a host name of RFC 5890, in Unicode or encoded. Any of the dots of RFC 3490 separates. */
export function isInternationalizedHostName(text: string): boolean {
  // Each character takes at least one character when encoded.
  if (text.length > 2 * NAME_CHARS_MAX) return false;
  const labels = text.split(/[.\u3002\uFF0E\uFF61]/u).map(encodeLabel);
  return labels.every((label) => label !== undefined) && labels.join('.').length <= NAME_CHARS_MAX;
}

/** Tells whether a text is a label of letters, digits and inner hyphens. */
export const isAsciiLabel = (label: string): boolean =>
  label.length <= LABEL_CHARS_MAX && /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/i.test(label);

/** Returns the label as the name system has it; undefined for one that is not valid. */
function encodeLabel(label: string): string | undefined {
  if (label.length > 2 * LABEL_CHARS_MAX) return undefined;
  if (isAscii(label)) return isAsciiLabel(label) && !isFakeEncodedLabel(label) ? label : undefined;
  if (!isInternationalizedLabel(label)) return undefined;
  const encoded = `xn--${encodePunycode(label)}`;
  return encoded.length <= LABEL_CHARS_MAX ? encoded : undefined;
}

/** Tells whether a label begins with `xn--` but does not encode a valid one. */
function isFakeEncodedLabel(label: string): boolean {
  if (!/^xn--/i.test(label)) return false;
  const encoded = label.slice('xn--'.length).toLowerCase();
  const decoded = decodePunycode(encoded);
  return (
    decoded === undefined ||
    isAscii(decoded) ||
    !isInternationalizedLabel(decoded) ||
    encodePunycode(decoded) !== encoded
  );
}

const isAscii = (text: string): boolean => !/[\u0080-\u{10FFFF}]/u.test(text);
