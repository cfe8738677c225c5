/** Control characters except tab and line feed. */
const CONTROL_CHARACTERS = /[^\P{Cc}\t\n]/gu;

/**
 * Invisible characters, and characters that change where text seems to start and end: soft hyphens, direction marks,
 * zero-width spaces, fillers, annotations, tag characters and supplementary variation selectors. The last two can
 * encode whole sentences that only a machine reads.
 */
const INVISIBLE_CHARACTERS =
  /\u034f|[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/**
 * Joiners. They are needed inside words of some scripts and inside emoji. Elsewhere they are invisible, and so is every
 * joiner after the first. The flag v, because Node 26.10 does not find an emoji at the end with u.
 */
const JOINERS = /[\u200c\u200d]+/gu;
const JOINS_BEFORE =
  /[\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Thaana}\p{Script=Nko}]$/v;

/** Line breaks and separators that programs treat as line breaks. */
const LINE_ENDS = /\r\n?|\v|\f|\u0085|\u2028|\u2029/gu;

/** Variation selectors after a character without variants, and repeated ones. */
const UNUSED_VARIATION_SELECTORS =
  /(?<![\p{Extended_Pictographic}\p{Script=Han}\p{Emoji}\p{S}\p{P}])[\ufe00-\ufe0f]|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]/gu;

/** Returns the text that a person would see, with `\n` as line break. */
export function removeInvisibleCharacters(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(LINE_ENDS, '\n')
    .replaceAll(CONTROL_CHARACTERS, '')
    .replaceAll(INVISIBLE_CHARACTERS, '')
    .replaceAll(JOINERS, (joiners, at: number, whole: string) =>
      JOINS_BEFORE.test(whole.slice(Math.max(0, at - 2), at)) ? (joiners[0] ?? '') : '',
    )
    .replaceAll(UNUSED_VARIATION_SELECTORS, '');
}

/** Truncates a text to `charsMax` UTF-16 code units. Never splits a surrogate pair. */
export function truncateText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const cut = text.slice(0, charsMax);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}
