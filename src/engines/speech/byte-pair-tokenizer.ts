/** The used fields of a tokenizer.json file. */
export interface BytePairTokenizerFile {
  readonly model: {
    readonly vocab: Readonly<Record<string, number>>;
    readonly merges: readonly (string | readonly [string, string])[];
  };
  readonly added_tokens: readonly { readonly id: number; readonly content: string }[];
}

/** Byte pair tokenizer of GPT-2, which Whisper uses. */
export interface BytePairTokenizer {
  /** Encodes a text. Never returns special tokens, even if the text contains their names. */
  encode(text: string): readonly number[];
  /** Decodes tokens. Special tokens decode to nothing, an incomplete character to U+FFFD. */
  decode(tokens: readonly number[]): string;
  /** Ids of the special tokens by their text. */
  readonly specialTokens: ReadonlyMap<string, number>;
}

/** Splits a text into pieces; no token extends over two of them. */
const PIECE_PATTERN = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

export function createBytePairTokenizer(file: BytePairTokenizerFile): BytePairTokenizer {
  const ids = new Map(Object.entries(file.model.vocab));
  const special = new Map(file.added_tokens.map(({ id, content }) => [content, id]));
  const specialIds = new Set(special.values());
  const texts: string[] = [];
  for (const [text, id] of ids) if (!specialIds.has(id)) texts[id] = text;
  const ranks = new Map(
    file.model.merges.map((pair, rank) => [typeof pair === 'string' ? pair : pair.join(' '), rank]),
  );
  const alphabet = createByteAlphabet();
  const bytes = new Map(alphabet.map((letter, byte) => [letter, byte]));
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

  const mergePairs = (piece: string): readonly string[] => {
    const parts = Array.from(Buffer.from(piece), (byte) => alphabet[byte] ?? '');
    const getRank = (at: number): number => ranks.get(`${parts[at]} ${parts[at + 1]}`) ?? Infinity;
    // Ranks of each part with the next. Text without spaces is one long piece, so update only the changed ranks.
    const pairs = parts.map((_, at) => getRank(at));
    for (;;) {
      let [best, bestRank] = [-1, Infinity];
      for (let at = 0; at < pairs.length; at++) {
        const rank = pairs[at] ?? Infinity;
        if (rank < bestRank) [best, bestRank] = [at, rank];
      }
      if (best < 0) return parts;
      parts.splice(best, 2, parts.slice(best, best + 2).join(''));
      pairs.splice(best, 2, getRank(best));
      if (best > 0) pairs[best - 1] = getRank(best - 1);
    }
  };

  return {
    specialTokens: special,
    encode: (text) =>
      Array.from(text.matchAll(PIECE_PATTERN), ([piece]) => mergePairs(piece)).flatMap((parts) =>
        parts.flatMap((part) => ids.get(part) ?? []),
      ),
    decode: (tokens) =>
      decoder.decode(
        Uint8Array.from(tokens.flatMap((id) => Array.from(texts[id] ?? '', (letter) => bytes.get(letter) ?? 63))),
      ),
  };
}

/** Returns a printable character for each byte: the byte's own character if printable, otherwise one from 256 on. */
function createByteAlphabet(): readonly string[] {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const isPrintable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    return String.fromCharCode(isPrintable ? byte : next++);
  });
}
