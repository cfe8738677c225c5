/**
 * Whether JSON text may contain more than `valuesMax` values. Counts commas and opening brackets outside strings,
 * before the text is parsed. The result is meaningless for text that is not JSON.
 */
export function hasMoreJsonValues(bytes: Uint8Array, valuesMax: number): boolean {
  if (bytes.length <= valuesMax) return false;
  let values = 0;
  let isString = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (isString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isString = false;
    } else if (byte === QUOTE) isString = true;
    else if ((byte === COMMA || byte === BRACE || byte === BRACKET) && ++values > valuesMax) return true;
  }
  return false;
}

const [QUOTE, BACKSLASH, COMMA, BRACE, BRACKET] = Buffer.from('"\\,{[');
