/** A part of a text that a translation must not change. */
export interface Span {
  readonly start: number;
  /** Behind the last character. */
  readonly end: number;
}

/**
 * What is protected, one pattern for each kind; where two begin at the same place, the first in this list wins. None of
 * them crosses a line, and none repeats inside a repetition, so that a text takes time that grows with its length.
 */
const PATTERNS: readonly RegExp[] = [
  // Code in backticks.
  /`[^`\r\n]+`/,
  // Placeholders with two or one pair of braces, also with a dollar or hash before: {{x}}, ${x}, {name}, {0:d}, {}.
  /\{\{[^{}\r\n]{0,200}\}\}/,
  /[$#%]?\{[^{}\r\n]{0,200}\}/,
  // Tags and entities of HTML and XML; what stands in quotes may have a `>` of its own.
  /<[A-Za-z][\w:.-]{0,60}(?=\s)(?:[^<>"'\r\n]{0,200}(?:"[^"\r\n]{0,500}"|'[^'\r\n]{0,500}')){1,12}[^<>"'\r\n]{0,200}>/,
  /<\/?[A-Za-z][\w:.-]{0,60}(?:\s[^<>\r\n]{0,500})?\/?>/,
  /<!--[^\r\n]{0,500}?-->/,
  /&(?:[A-Za-z]\w{1,30}|#\d{1,7}|#x[\dA-Fa-f]{1,6});/,
  // Addresses; a full stop or bracket at the end is the sentence's.
  /\b(?:[Hh][Tt][Tt][Pp][Ss]?|[Ff][Tt][Pp]|[Ww][Ss][Ss]?|[Ff][Ii][Ll][Ee]):\/\/[^\s<>"'`\u3000-\u303f\uff00-\uffef]*[^\s<>"'`\u3000-\u303f\uff00-\uffef.,;:!?)\]}]/,
  /\bwww\.[^\s<>"'`\u3000-\u303f\uff00-\uffef]*[^\s<>"'`\u3000-\u303f\uff00-\uffef.,;:!?)\]}]/,
  // Of mail: in Latin letters with their accents, as other writing may stand around without a blank.
  /(?<![\w\p{Script=Latin}])(?=[\w\p{Script=Latin}])(?:mailto:)?[\w\p{Script=Latin}.%+-]{1,64}@[\p{Script=Latin}\d-]{1,63}(?:\.[\p{Script=Latin}\d-]{1,63}){1,8}(?<=[\p{Script=Latin}\d])/u,
  // Names between percent signs: %name%, %USER_ID%.
  /(?<!\d)%(?!(?:ll|hh|[lhz])[diuxX]%)[A-Za-z_]\w{2,40}%/,
  // Printf: %s, %1$d, %.2f, %(name)s, %@, %zu, %%. Up to two letters may follow, a unit as in %dms, unless it may be a share: 5%di.
  /%(?:\d{1,2}\$)?(?:\([A-Za-z_]\w{0,40}\))?[-+0#]{0,3}\d{0,3}(?:\.\d{1,2})?(?:l{1,2}|h{1,2}|[zjtL])?[sdifuxXoeEgGcpq@](?:(?![A-Za-z\d])|(?<!\d%\w{0,8})(?![A-Za-z]{3}|[A-Za-z]{0,2}\d))/,
  /%%/,
  // Formulas between dollars, as TeX writes them.
  /\$\$[^$\r\n]{1,300}\$\$/,
];

const ANY = new RegExp(PATTERNS.map(({ source }) => `(?:${source})`).join('|'), 'gu');

/** In the order in which they stand; they do not overlap. */
export function protectedSpans(text: string): readonly Span[] {
  return Array.from(text.matchAll(ANY), (match) => ({ start: match.index, end: match.index + match[0].length }));
}
