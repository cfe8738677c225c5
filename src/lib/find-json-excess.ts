export interface JsonLimits {
  /** Values, counted by commas and opening brackets. */
  readonly valuesMax: number;
  /** Members of objects, all objects together, counted by colons. */
  readonly membersMax: number;
  /** Arrays and objects inside one another. */
  readonly depthMax: number;
}

/**
 * Returns the first limit that JSON text exceeds. Reads the bytes once, before the text is parsed: parsing takes much
 * longer, and a value with many members is slow to walk through. The result is meaningless for text that is not JSON.
 */
export function findJsonExcess(
  bytes: Uint8Array,
  { valuesMax, membersMax, depthMax }: JsonLimits,
): 'values' | 'members' | 'depth' | undefined {
  let [values, members, depth] = [0, 0, 0];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = findStringEnd(bytes, at);
    else if (byte === COMMA) values++;
    else if (byte === COLON) members++;
    else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) depth--;
    else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
      values++;
      depth++;
    } else continue;
    if (values > valuesMax) return 'values';
    if (members > membersMax) return 'members';
    if (depth > depthMax) return 'depth';
  }
  return undefined;
}

/** Returns the position of the quotation mark that ends the string which starts at `start`. */
function findStringEnd(bytes: Uint8Array, start: number): number {
  // Native code finds the end of most strings: a quotation mark without a backslash before it.
  const quote = bytes.indexOf(QUOTE, start + 1);
  if (quote < 0) return bytes.length;
  if (bytes[quote - 1] !== BACKSLASH) return quote;
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
