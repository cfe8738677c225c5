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
    let parts = Array.from(Buffer.from(piece), (byte) => letters[byte] ?? '');
    for (;;) {
      let [best, bestRank] = [-1, Infinity];
      for (let i = 0; i + 1 < parts.length; i++) {
        const rank = ranks.get(`${parts[i]} ${parts[i + 1]}`) ?? Infinity;
        if (rank < bestRank) [best, bestRank] = [i, rank];
      }
      if (best < 0) return parts;
      parts = [...parts.slice(0, best), parts.slice(best, best + 2).join(''), ...parts.slice(best + 2)];
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
