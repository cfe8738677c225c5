import { Unreadable } from './unreadable.ts';

/** Takes the text of a document piece by piece, up to its limit. */
export interface TextSink {
  /** @throws Unreadable beyond the limit: a text is whole or not there. */
  push(text: string): void;
  end(): { readonly text: Uint8Array; readonly chars: number };
}

/** So many characters become bytes at once: strings of many pieces take several times their length. */
const FLUSH_CHARS = 64 * 1024;

/** Control characters that no text needs; templates and terminals would only stumble over them. */
const CONTROLS = /[^\P{Cc}\n\t]/gu;

export function createTextSink({ bytesMax }: { readonly bytesMax: number }): TextSink {
  const flushed: Uint8Array[] = [];
  let bytes = 0;
  let chars = 0;
  let waiting = '';

  const flush = (text: string): void => {
    const clean = text.replace(CONTROLS, '').toWellFormed();
    const encoded = Buffer.from(clean, 'utf8');
    flushed.push(encoded);
    bytes += encoded.length;
    chars += clean.length;
    if (bytes > bytesMax) throw new Unreadable(`has more text than the ${bytesMax} bytes that may be read of one`);
  };

  return {
    push(text) {
      waiting += text;
      if (waiting.length < FLUSH_CHARS) return;
      // The other half of a character may come with the next piece.
      const end = isHighSurrogate(waiting.charCodeAt(waiting.length - 1)) ? waiting.length - 1 : waiting.length;
      const rest = waiting.slice(end);
      flush(waiting.slice(0, end));
      waiting = rest;
    },
    end() {
      flush(waiting);
      waiting = '';
      return { text: Buffer.concat(flushed), chars };
    },
  };
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
