import { UnreadableDocumentError } from './unreadable-document-error.ts';

/** Collects the text of a document, up to its limit. */
export interface TextSink {
  /**
   * Adds a piece of text.
   * @throws UnreadableDocumentError beyond the limit: a text is never truncated.
   */
  push(text: string): void;
  /** Returns the whole text in UTF-8, and its length in UTF-16 code units. */
  finish(): { readonly text: Uint8Array; readonly chars: number };
}

/** Characters encoded at a time: a string built from many pieces takes several times its length in memory. */
const FLUSH_CHARS = 64 * 1024;

/**
 * Control characters (category Cc) other than newline and tab. No text needs them, and they may break chat templates
 * and terminals.
 */
const CONTROL_CHARACTERS = /[^\P{Cc}\n\t]/gu;

export function createTextSink({ bytesMax }: { readonly bytesMax: number }): TextSink {
  const flushed: Uint8Array[] = [];
  let bytes = 0;
  let chars = 0;
  let pending = '';

  const flush = (text: string): void => {
    const clean = text.replace(CONTROL_CHARACTERS, '').toWellFormed();
    const encoded = Buffer.from(clean, 'utf8');
    flushed.push(encoded);
    bytes += encoded.length;
    chars += clean.length;
    // The caller puts the name of the document before the message.
    if (bytes > bytesMax) throw new UnreadableDocumentError(`has more than ${bytesMax} bytes of text`);
  };

  return {
    push(text) {
      pending += text;
      if (pending.length < FLUSH_CHARS) return;
      // The second half of a surrogate pair may be in the next piece.
      const end = isHighSurrogate(pending.charCodeAt(pending.length - 1)) ? pending.length - 1 : pending.length;
      const rest = pending.slice(end);
      flush(pending.slice(0, end));
      pending = rest;
    },
    finish() {
      flush(pending);
      pending = '';
      return { text: Buffer.concat(flushed), chars };
    },
  };
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
