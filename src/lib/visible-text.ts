/** Control characters but for tabs and ends of lines. */
const CONTROLS = /[^\P{Cc}\t\n]/gu;

/**
 * What nobody sees, or what changes where text seems to begin and end: soft hyphens, marks of direction, spaces without
 * width, fillers, annotations, tags and the selectors of variants that stand for no variant. Whole sentences can be
 * written in the last two that only a machine reads.
 */
const UNSEEN =
  /\u034f|[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/**
 * Joiners are needed in the middle of words of some scripts, and of emoji. Anywhere else they are unseen as well, and so
 * are more than one of them.
 */
const JOINERS = /[\u200c\u200d]+/gu;
const JOINS_BEFORE =
  /[\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Thaana}\p{Script=Nko}]$/u;

/** At the end of each line a person would see one end; separators that programs take for one are written as such. */
const LINE_ENDS = /\r\n?|\v|\f|\u0085|\u2028|\u2029/gu;

/** A selector of a variant says something after what has variants, once. */
const SELECTORS =
  /(?<![\p{Extended_Pictographic}\p{Script=Han}\p{Emoji}\p{S}\p{P}])[\ufe00-\ufe0f]|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]/gu;

/** The text that a person would see, with `\n` at the end of lines. */
export function visibleText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(LINE_ENDS, '\n')
    .replaceAll(CONTROLS, '')
    .replaceAll(UNSEEN, '')
    .replaceAll(JOINERS, (joiners, at: number, whole: string) =>
      JOINS_BEFORE.test(whole.slice(Math.max(0, at - 2), at)) ? (joiners[0] ?? '') : '',
    )
    .replaceAll(SELECTORS, '');
}

/** At most so many UTF-16 units, never half of a pair. */
export function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const cut = text.slice(0, charsMax);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}
