/** The part of a phase that stays in the context when its output ends inside a token. */
export interface RetainedContext {
  /** Number of leading tokens of the phase that stay; tokens reported together count as one. */
  readonly keepTokens: number;
  /** Output text after those tokens. Its tokens leave the context, so it is tokenized and appended again. */
  readonly keepText: string;
}

/**
 * Finds the point where the tokens of a phase can be cut, so that the context ends exactly with the output.
 *
 * A token may end inside a character. Therefore the cut follows the last token that ends with a complete character, and
 * the output text after that token is returned as text.
 */
export interface CutPointTracker {
  /** @param piece Text of the token's bytes, together with incomplete bytes of the tokens before it. */
  add(bytes: Uint8Array, piece: string): void;
  /** Forgets cut points before this character position of the phase; `cutAt` will not be called for them. */
  discardBefore(char: number): void;
  cutAt(char: number): RetainedContext;
}

export function createCutPointTracker(): CutPointTracker {
  /** Points after which a character is complete. The first entry is the earliest one that `cutAt` may still need. */
  let cutPoints: { readonly tokens: number; readonly char: number }[] = [{ tokens: 0, char: 0 }];
  let first = cutPoints[0] ?? { tokens: 0, char: 0 };
  /** Text since the first cut point. */
  let text = '';
  let tokens = 0;
  let isWhole = true;
  return {
    add(bytes, piece) {
      tokens++;
      text += piece;
      if (bytes.length > 0) isWhole = piece !== '' && endsWithWholeCharacter(bytes);
      if (isWhole) cutPoints.push({ tokens, char: first.char + text.length });
    },
    discardBefore(char) {
      let index = 0;
      while ((cutPoints[index + 1]?.char ?? Infinity) <= char) index++;
      const next = cutPoints[index];
      if (index === 0 || !next) return;
      cutPoints = cutPoints.slice(index);
      text = text.slice(next.char - first.char);
      first = next;
    },
    cutAt(char) {
      const cutPoint = cutPoints.findLast((candidate) => candidate.char <= char) ?? first;
      return { keepTokens: cutPoint.tokens, keepText: text.slice(cutPoint.char - first.char, char - first.char) };
    },
  };
}

/** Returns false if the last bytes start a UTF-8 character without completing it. */
function endsWithWholeCharacter(bytes: Uint8Array): boolean {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return true;
    if (byte >= 0xc0) return back >= (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2);
  }
  return true;
}
