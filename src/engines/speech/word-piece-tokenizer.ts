/** The used fields of a tokenizer.json file. */
export interface WordPieceTokenizerFile {
  readonly model: {
    readonly vocab: Readonly<Record<string, number>>;
    readonly unk_token: string;
    readonly continuing_subword_prefix: string;
    readonly max_input_chars_per_word: number;
  };
}

/** Tokenizer of uncased BERT. Returns no special token except the one for unknown words. */
export type WordPieceTokenizer = (text: string) => readonly number[];

/** Punctuation and ideographs are separate words. */
const WORD_PATTERN =
  /[\p{P}$+<=>^`|~]|[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2ebef}\uf900-\ufaff]|[^\s\p{P}$+<=>^`|~\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2ebef}\uf900-\ufaff]+/gu;

/** Characters that are removed: control characters except whitespace, and the replacement character. */
const INVISIBLE = /[^\P{C}\t\n\r]|\ufffd/gu;

const ACCENTS = /\p{Mn}/gu;

export function createWordPieceTokenizer({ model }: WordPieceTokenizerFile): WordPieceTokenizer {
  const ids = new Map(Object.entries(model.vocab));
  const unknown = ids.get(model.unk_token);
  if (unknown === undefined) throw new Error(`the tokenizer has no token ${model.unk_token}`);

  /** Takes the longest known prefix repeatedly. A word that cannot be split this way is unknown as a whole. */
  const spell = (word: string): readonly number[] => {
    const characters = Array.from(word);
    if (characters.length > model.max_input_chars_per_word) return [unknown];
    const pieces: number[] = [];
    for (let from = 0; from < characters.length;) {
      let to = characters.length;
      let id: number | undefined;
      for (; to > from && id === undefined; to--) {
        const piece = characters.slice(from, to).join('');
        id = ids.get(from === 0 ? piece : model.continuing_subword_prefix + piece);
      }
      if (id === undefined) return [unknown];
      pieces.push(id);
      from = to + 1;
    }
    return pieces;
  };

  return (text) => {
    const plain = text.replace(INVISIBLE, '').toLowerCase().normalize('NFD').replace(ACCENTS, '');
    return Array.from(plain.matchAll(WORD_PATTERN), ([word]) => spell(word)).flat();
  };
}
