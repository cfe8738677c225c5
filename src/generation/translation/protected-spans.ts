import { findMarkdownLinks } from './markdown-links.ts';

/** A range of a text that a translation must not change. */
export interface ProtectedSpan {
  readonly start: number;
  /** Position after the last character. */
  readonly end: number;
  /** Absent: the range is no mark of a link. */
  readonly link?: { readonly index: number; readonly isOpening: boolean };
}

/**
 * One pattern per kind of protected text. Of two that match at the same position, the first in this list wins. No
 * pattern crosses a line or nests repetitions, so matching takes linear time.
 */
const PATTERNS: readonly RegExp[] = [
  // Code in backticks.
  /`[^`\r\n]+`/,
  // Placeholders in one or two pairs of braces, also after a dollar or hash sign: {{x}}, ${x}, {name}, {0:d}, {}.
  /\{\{[^{}\r\n]{0,200}\}\}/,
  /[$#%]?\{[^{}\r\n]{0,200}\}/,
  // Tags and entities of HTML and XML. Quoted attribute values may contain `>`.
  /<[A-Za-z][\w:.-]{0,60}(?=\s)(?:[^<>"'\r\n]{0,200}(?:"[^"\r\n]{0,500}"|'[^'\r\n]{0,500}')){1,12}[^<>"'\r\n]{0,200}>/,
  /<\/?[A-Za-z][\w:.-]{0,60}(?:\s[^<>\r\n]{0,500})?\/?>/,
  /<!--[^\r\n]{0,500}?-->/,
  /&(?:[A-Za-z]\w{1,30}|#\d{1,7}|#x[\dA-Fa-f]{1,6});/,
  // URLs. Punctuation and brackets at the end belong to the sentence.
  /\b(?:[Hh][Tt][Tt][Pp][Ss]?|[Ff][Tt][Pp]|[Ww][Ss][Ss]?|[Ff][Ii][Ll][Ee]):\/\/[^\s<>"'`\u3000-\u303f\uff00-\uffef]*[^\s<>"'`\u3000-\u303f\uff00-\uffef.,;:!?)\]}]/,
  /\bwww\.[^\s<>"'`\u3000-\u303f\uff00-\uffef]*[^\s<>"'`\u3000-\u303f\uff00-\uffef.,;:!?)\]}]/,
  // Mail addresses in Latin letters with accents, because other scripts may precede them without a space.
  /(?<![\w\p{Script=Latin}])(?=[\w\p{Script=Latin}])(?:mailto:)?[\w\p{Script=Latin}.%+-]{1,64}@[\p{Script=Latin}\d-]{1,63}(?:\.[\p{Script=Latin}\d-]{1,63}){1,8}(?<=[\p{Script=Latin}\d])/u,
  // Names between percent signs: %name%, %USER_ID%.
  /(?<!\d)%(?!(?:ll|hh|[lhz])[diuxX]%)[A-Za-z_]\w{2,40}%/,
  // Printf: %s, %1$d, %.2f, %(name)s, %@, %zu, %%. Up to two letters may follow (a unit, as in %dms), except after a
  // percentage such as 5%di.
  /%(?:\d{1,2}\$)?(?:\([A-Za-z_]\w{0,40}\))?[-+0#]{0,3}\d{0,3}(?:\.\d{1,2})?(?:l{1,2}|h{1,2}|[zjtL])?[sdifuxXoeEgGcpq@](?:(?![A-Za-z\d])|(?<!\d%\w{0,8})(?![A-Za-z]{3}|[A-Za-z]{0,2}\d))/,
  /%%/,
  // TeX formulas between dollar signs.
  /\$\$[^$\r\n]{1,300}\$\$/,
];

const ANY_PROTECTED = new RegExp(PATTERNS.map(({ source }) => `(?:${source})`).join('|'), 'gu');

/** Returns the protected ranges in text order, without overlaps. The text of a link is not protected, its marks are. */
export function findProtectedSpans(text: string): readonly ProtectedSpan[] {
  const marks = findMarkdownLinks(text)
    .flatMap(({ open, close }, link): ProtectedSpan[] => [
      { ...open, link: { index: link, isOpening: true } },
      { ...close, link: { index: link, isOpening: false } },
    ])
    .toSorted((one, other) => one.start - other.start);
  const spans: ProtectedSpan[] = [];
  let at = 0;
  for (const mark of [...marks, { start: text.length, end: text.length }]) {
    const start = at;
    for (const match of text.slice(start, mark.start).matchAll(ANY_PROTECTED))
      spans.push({ start: start + match.index, end: start + match.index + match[0].length });
    if (mark.end > mark.start) spans.push(mark);
    at = mark.end;
  }
  return spans;
}

/** Returns the ranges that must not be divided: whole links, and the protected ranges outside of links. */
export function findUnbreakableSpans(text: string): readonly ProtectedSpan[] {
  const spans: { start: number; end: number }[] = [];
  let openLinks = 0;
  for (const { start, end, link } of findProtectedSpans(text)) {
    const last = spans.at(-1);
    if (openLinks > 0 && last) last.end = end;
    else spans.push({ start, end });
    if (link) openLinks += link.isOpening ? 1 : -1;
  }
  return spans;
}
