/** A word, and its tokens: from `from` to before `to`. */
export interface TokenizedWord {
  readonly text: string;
  /** Punctuation after the word, including the following space. */
  readonly punctuation: string;
  readonly from: number;
  readonly to: number;
}

/** A UTF-8 character has at most four bytes, and a token at least one. */
const CHARACTER_TOKENS_MAX = 4;

/** A piece of text without incomplete characters, and its tokens. */
interface TextUnit {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

/** Punctuation after a word that is not part of it. */
const TRAILING_PUNCTUATION = /[.,!?;:…。，！？；：、"”’)\]}»」』）】]+$/u;

const PUNCTUATION_ONLY = /^\s*[\p{P}\p{S}]*$/u;

/**
 * Splits a text into words: at spaces, or at token borders in scripts without spaces. The concatenated `text` and
 * `punctuation` of all words are the text without surrounding spaces.
 */
export function splitWords(
  tokens: readonly number[],
  decode: (tokens: readonly number[]) => string,
): readonly TokenizedWord[] {
  const groups: TextUnit[] = [];
  for (const unit of groupIntoCharacters(tokens, decode)) {
    const last = groups.at(-1);
    if (!last || startsWord(last.text, unit.text)) groups.push(unit);
    else groups.splice(-1, 1, { text: last.text + unit.text, from: last.from, to: unit.to });
  }
  return groups.map((group, at) => {
    const space = /^\s*/.exec(groups[at + 1]?.text ?? '')?.[0] ?? '';
    const trimmed = group.text.trim();
    const trailing = TRAILING_PUNCTUATION.exec(trimmed)?.[0] ?? '';
    // Punctuation without a word counts as a word.
    const punctuation = trailing === trimmed ? '' : trailing;
    const text = trimmed.slice(0, trimmed.length - punctuation.length);
    return punctuation === ''
      ? { ...group, text: text + space, punctuation }
      : { ...group, text, punctuation: punctuation + space };
  });
}

function startsWord(before: string, next: string): boolean {
  // Spaces and opening punctuation belong to the next word, other punctuation to the previous word.
  if (PUNCTUATION_ONLY.test(before)) return false;
  if (/^\s/.test(next)) return true;
  if (PUNCTUATION_ONLY.test(next)) return false;
  return startsInUnspacedScript(next) || endsInUnspacedScript(before);
}

/** Groups tokens into complete characters, because a character may consist of several tokens. */
function groupIntoCharacters(
  tokens: readonly number[],
  decode: (tokens: readonly number[]) => string,
): readonly TextUnit[] {
  const units: TextUnit[] = [];
  let from = 0;
  for (let to = 1; to <= tokens.length; to++) {
    const text = decode(tokens.slice(from, to));
    if (text.endsWith('\ufffd') && to < tokens.length && to - from < CHARACTER_TOKENS_MAX) continue;
    if (text !== '') units.push({ text, from, to });
    from = to;
  }
  return units;
}

/** Scripts that write no spaces between words. */
const UNSPACED_SCRIPTS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Myanmar}\p{Script=Khmer}]/u;

/** Returns whether a text starts in a script without spaces. */
export const startsInUnspacedScript = (text: string): boolean => UNSPACED_SCRIPTS.test(Array.from(text)[0] ?? '');

/** Returns whether a text ends in a script without spaces, ignoring punctuation at its end. */
const endsInUnspacedScript = (text: string): boolean =>
  UNSPACED_SCRIPTS.test(Array.from(text.replace(/\p{P}+$/u, '')).at(-1) ?? '');
