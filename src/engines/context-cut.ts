/** What of a phase's tokens stays in the context when its output ends in the middle of a token. */
export interface Kept {
  /** So many of the phase's tokens stay; what came together counts as one. */
  readonly keepTokens: number;
  /** Stood behind them in tokens that leave: it is put in again as text. */
  readonly keepText: string;
}

/**
 * Where the tokens of a phase can be cut so that the context ends with the output, to the character.
 *
 * A token may end inside a character, so a cut goes behind a token that does not, and gives the text up to it back.
 */
export interface ContextCut {
  /** @param piece What the token's bytes and those held back before it say. */
  add(bytes: Uint8Array, piece: string): void;
  /** No cut will be asked for before this character of the phase. */
  passed(char: number): void;
  at(char: number): Kept;
}

export function createContextCut(): ContextCut {
  /** Behind these tokens a character is complete. The first is the last one that can still be needed. */
  let edges: { readonly tokens: number; readonly char: number }[] = [{ tokens: 0, char: 0 }];
  let first = edges[0] ?? { tokens: 0, char: 0 };
  /** Text since the first. */
  let text = '';
  let tokens = 0;
  let isWhole = true;
  return {
    add(bytes, piece) {
      tokens++;
      text += piece;
      if (bytes.length > 0) isWhole = piece !== '' && endsWithWholeCharacter(bytes);
      if (isWhole) edges.push({ tokens, char: first.char + text.length });
    },
    passed(char) {
      let count = 0;
      while ((edges[count + 1]?.char ?? Infinity) <= char) count++;
      const next = edges[count];
      if (count === 0 || !next) return;
      edges = edges.slice(count);
      text = text.slice(next.char - first.char);
      first = next;
    },
    at(char) {
      const edge = edges.findLast((one) => one.char <= char) ?? first;
      return { keepTokens: edge.tokens, keepText: text.slice(edge.char - first.char, char - first.char) };
    },
  };
}

/** False when the last bytes begin a UTF-8 character and do not end it. */
function endsWithWholeCharacter(bytes: Uint8Array): boolean {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return true;
    if (byte >= 0xc0) return back >= (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2);
  }
  return true;
}
