/** Joins pieces of text that may be cut within a character: half a surrogate pair waits for its other half. */
export interface SurrogatePairJoiner {
  /** Returns the text that is complete so far. A half that cannot be completed becomes U+FFFD: no encoding has bytes for it. */
  push(piece: string): string;
  /** Returns the rest at the end of the text: U+FFFD or nothing. */
  end(): string;
}

export function createSurrogatePairJoiner(): SurrogatePairJoiner {
  let pendingHalf = '';
  return {
    push(piece) {
      if (piece === '') return '';
      const text = pendingHalf + piece;
      pendingHalf = isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.slice(-1) : '';
      return (pendingHalf === '' ? text : text.slice(0, -1)).toWellFormed();
    },
    end() {
      const rest = pendingHalf.toWellFormed();
      pendingHalf = '';
      return rest;
    },
  };
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
