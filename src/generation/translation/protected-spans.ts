/** A range of a text that a translation must not change. */
export interface ProtectedSpan {
  readonly start: number;
  /** Position after the last character. */
  readonly end: number;
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

/** Returns the protected ranges in text order, without overlaps. */
export function findProtectedSpans(text: string): readonly ProtectedSpan[] {
  return Array.from(text.matchAll(ANY_PROTECTED), (match) => ({
    start: match.index,
    end: match.index + match[0].length,
  }));
}
