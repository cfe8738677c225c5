/**
 * Decodes UTF-8 bytes that arrive in chunks. Holds back the bytes of an incomplete character. Invalid bytes become
 * U+FFFD, as in TextDecoder.
 */
export interface Utf8StreamDecoder {
  push(bytes: Uint8Array): string;
  /** Ends the text. @returns U+FFFD if an incomplete character is left, else an empty text. */
  end(): string;
}

export function createUtf8StreamDecoder(): Utf8StreamDecoder {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return {
    push: (bytes) => decoder.decode(bytes, { stream: true }),
    end: () => decoder.decode(),
  };
}
