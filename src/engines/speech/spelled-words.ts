import { endsUnspaced, isUnspaced } from './scripts.ts';

/** A word of a text, and the tokens that say it: from the first up to, but without, the last. */
export interface SpelledWord {
  readonly text: string;
  /** Behind it, with the blank that follows. */
  readonly punctuation: string;
  readonly from: number;
  readonly to: number;
}

/** UTF-8 has four bytes for a character at most, and a token at least one of them. */
const CHARACTER_TOKENS_MAX = 4;

/** A token or several that are whole characters. */
interface Unit {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

/** Signs that stand behind a word and are none of it. */
const BEHIND = /[.,!?;:…。，！？；：、"”’)\]}»」』）】]+$/u;

const ONLY_SIGNS = /^\s*[\p{P}\p{S}]*$/u;

/**
 * The words of a text: from blank to blank, or as the tokens say them in scripts without blanks. One behind the other,
 * `text` and `punctuation` of all of them are the text, without the blanks at its ends.
 */
export function spelledWords(
  tokens: readonly number[],
  decode: (tokens: readonly number[]) => string,
): readonly SpelledWord[] {
  const groups: Unit[] = [];
  for (const unit of wholeCharacters(tokens, decode)) {
    const last = groups.at(-1);
    if (!last || beginsWord(last.text, unit.text)) groups.push(unit);
    else groups.splice(-1, 1, { text: last.text + unit.text, from: last.from, to: unit.to });
  }
  return groups.map((group, at) => {
    const blank = /^\s*/.exec(groups[at + 1]?.text ?? '')?.[0] ?? '';
    const bare = group.text.trim();
    const sign = BEHIND.exec(bare)?.[0] ?? '';
    // Signs alone are somebody's word.
    const punctuation = sign === bare ? '' : sign;
    const text = bare.slice(0, bare.length - punctuation.length);
    return punctuation === ''
      ? { ...group, text: text + blank, punctuation }
      : { ...group, text, punctuation: punctuation + blank };
  });
}

function beginsWord(before: string, next: string): boolean {
  // Blanks, and signs that open something, stay with what follows; those behind a word stay with it.
  if (ONLY_SIGNS.test(before)) return false;
  if (/^\s/.test(next)) return true;
  if (ONLY_SIGNS.test(next)) return false;
  return isUnspaced(next) || endsUnspaced(before);
}

/** A character may be said by several tokens: nothing is said of it before its last. */
function wholeCharacters(tokens: readonly number[], decode: (tokens: readonly number[]) => string): readonly Unit[] {
  const units: Unit[] = [];
  let from = 0;
  for (let to = 1; to <= tokens.length; to++) {
    const text = decode(tokens.slice(from, to));
    if (text.endsWith('\ufffd') && to < tokens.length && to - from < CHARACTER_TOKENS_MAX) continue;
    if (text !== '') units.push({ text, from, to });
    from = to;
  }
  return units;
}
