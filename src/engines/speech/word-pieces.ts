/** What we read of a tokenizer.json. */
export interface WordPiecesFile {
  readonly model: {
    readonly vocab: Readonly<Record<string, number>>;
    readonly unk_token: string;
    readonly continuing_subword_prefix: string;
    readonly max_input_chars_per_word: number;
  };
}

/** A text's token ids, as uncased BERT spells it; no special token comes out, whatever the text says, but the unknown one. */
export type WordPieces = (text: string) => readonly number[];

/** Signs, and ideographs, are words of their own. */
const WORDS =
  /[\p{P}$+<=>^`|~]|[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2ebef}\uf900-\ufaff]|[^\s\p{P}$+<=>^`|~\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2ebef}\uf900-\ufaff]+/gu;

/** Neither seen nor heard: control characters but blanks, and what could not be decoded. */
const NOTHING = /[^\P{C}\t\n\r]|\ufffd/gu;

const ACCENTS = /\p{Mn}/gu;

export function createWordPieces({ model }: WordPiecesFile): WordPieces {
  const ids = new Map(Object.entries(model.vocab));
  const unknown = ids.get(model.unk_token);
  if (unknown === undefined) throw new Error(`the tokenizer has no token ${model.unk_token}`);

  /** The longest known beginning, again and again; a word that cannot be spelled so is unknown as a whole. */
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
    const plain = text.replace(NOTHING, '').toLowerCase().normalize('NFD').replace(ACCENTS, '');
    return Array.from(plain.matchAll(WORDS), ([word]) => spell(word)).flat();
  };
}
