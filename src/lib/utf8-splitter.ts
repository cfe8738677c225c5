/**
 * Bytes in, whole characters out: the bytes of a character that is not complete yet are held back.
 *
 * Invalid bytes become U+FFFD, as in TextDecoder. `end` gives what is left (an incomplete character becomes U+FFFD).
 */
export interface Utf8Splitter {
  push(bytes: Uint8Array): string;
  end(): string;
}

export function createUtf8Splitter(): Utf8Splitter {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return {
    push: (bytes) => decoder.decode(bytes, { stream: true }),
    end: () => decoder.decode(),
  };
}
