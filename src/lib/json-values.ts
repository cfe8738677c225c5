/**
 * Whether JSON text may make more values than `most`: counts commas and opening brackets outside strings, before anything is
 * made of them. Of text that is no JSON it says nothing.
 */
export function hasMoreValues(bytes: Uint8Array, most: number): boolean {
  if (bytes.length <= most) return false;
  let values = 0;
  let isString = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (isString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isString = false;
    } else if (byte === QUOTE) isString = true;
    else if ((byte === COMMA || byte === BRACE || byte === BRACKET) && ++values > most) return true;
  }
  return false;
}

const [QUOTE, BACKSLASH, COMMA, BRACE, BRACKET] = Buffer.from('"\\,{[');
