/** Text that comes in pieces which may be cut within a character: half a surrogate pair waits for the other half. */
export interface WholeCharacters {
  /** What can be told by now. A half that will never be whole is U+FFFD, because no encoding has bytes for it. */
  push(piece: string): string;
  /** Nothing more comes: what waited, which is U+FFFD or nothing. */
  end(): string;
}

export function createWholeCharacters(): WholeCharacters {
  let half = '';
  return {
    push(piece) {
      if (piece === '') return '';
      const text = half + piece;
      half = isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.slice(-1) : '';
      return (half === '' ? text : text.slice(0, -1)).toWellFormed();
    },
    end() {
      const rest = half.toWellFormed();
      half = '';
      return rest;
    },
  };
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
