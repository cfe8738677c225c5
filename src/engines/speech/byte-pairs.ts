/** What we read of a tokenizer.json. */
export interface TokenizerFile {
  readonly model: {
    readonly vocab: Readonly<Record<string, number>>;
    readonly merges: readonly (string | readonly [string, string])[];
  };
  readonly added_tokens: readonly { readonly id: number; readonly content: string }[];
}

/** Texts as token ids and back, by the byte pairs of GPT-2, which whisper uses. */
export interface BytePairs {
  /** No special token comes out, whatever the text says. */
  encode(text: string): readonly number[];
  /** Special tokens say nothing; half a character reads U+FFFD. */
  decode(tokens: readonly number[]): string;
  /** Ids of the special tokens by their texts. */
  readonly special: ReadonlyMap<string, number>;
}

/** How a text falls into pieces that no token crosses. */
const PIECES = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

export function createBytePairs(file: TokenizerFile): BytePairs {
  const ids = new Map(Object.entries(file.model.vocab));
  const special = new Map(file.added_tokens.map(({ id, content }) => [content, id]));
  const specialIds = new Set(special.values());
  const texts: string[] = [];
  for (const [text, id] of ids) if (!specialIds.has(id)) texts[id] = text;
  const ranks = new Map(
    file.model.merges.map((pair, rank) => [typeof pair === 'string' ? pair : pair.join(' '), rank]),
  );
  const letters = byteLetters();
  const bytes = new Map(letters.map((letter, byte) => [letter, byte]));
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

  const merged = (piece: string): readonly string[] => {
    const parts = Array.from(Buffer.from(piece), (byte) => letters[byte] ?? '');
    const rankOf = (at: number): number => ranks.get(`${parts[at]} ${parts[at + 1]}`) ?? Infinity;
    // Of each part with the next. A script without blanks is one long piece: only what a step changes is looked up again.
    const pairs = parts.map((_, at) => rankOf(at));
    for (;;) {
      let [best, bestRank] = [-1, Infinity];
      for (let at = 0; at < pairs.length; at++) {
        const rank = pairs[at] ?? Infinity;
        if (rank < bestRank) [best, bestRank] = [at, rank];
      }
      if (best < 0) return parts;
      parts.splice(best, 2, parts.slice(best, best + 2).join(''));
      pairs.splice(best, 2, rankOf(best));
      if (best > 0) pairs[best - 1] = rankOf(best - 1);
    }
  };

  return {
    special,
    encode: (text) =>
      Array.from(text.matchAll(PIECES), ([piece]) => merged(piece)).flatMap((parts) =>
        parts.flatMap((part) => ids.get(part) ?? []),
      ),
    decode: (tokens) =>
      decoder.decode(
        Uint8Array.from(tokens.flatMap((id) => Array.from(texts[id] ?? '', (letter) => bytes.get(letter) ?? 63))),
      ),
  };
}

/** A letter that can be seen for each byte: its own where it has one, else one from 256 on. */
function byteLetters(): readonly string[] {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const isSeen = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    return String.fromCharCode(isSeen ? byte : next++);
  });
}
