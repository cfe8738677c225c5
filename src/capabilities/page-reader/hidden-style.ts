/** Declarations that make an element invisible, as patterns for text without whitespace and comments. */
const HIDING_DECLARATIONS: readonly RegExp[] = [
  /(?:^|;)display:none/,
  /(?:^|;)visibility:(?:hidden|collapse)/,
  /(?:^|;)content-visibility:hidden/,
  /(?:^|;)opacity:(?:0?\.0\d*|0)%?(?:!important)?(?:;|$)/,
  /(?:^|;)font-size:(?:0|0?\.\d+|1)(?:px|pt|em|rem|%|vw|vh)?(?:!important)?(?:;|$)/,
  /(?:^|;)(?:-webkit-text-fill-)?color:(?:transparent|rgba\(\d+,\d+,\d+,0?\.?0+\))/,
  /(?:^|;)text-indent:-\d{3,}/,
  /(?:^|;)(?:left|top|right|bottom|margin-left|margin-top):-\d{3,}/,
  /(?:^|;)clip:rect\(0/,
  /(?:^|;)clip:rect\(1px,?1px,?1px,?1px\)/,
  /(?:^|;)clip-path:inset\((?:50|100)%\)/,
  /(?:^|;)transform:scale[xy]?\(0(?:,0)?\)/,
];

/** Chosen: maximum length of the declarations that are analyzed. */
const STYLE_CHARS_MAX = 10_000;

/** Whether CSS declarations make the text of an element invisible. Colors of other elements are not considered. */
export function isHidingStyle(style: string): boolean {
  // No visible element has so long a style.
  if (style.length > STYLE_CHARS_MAX) return true;
  const text = style
    .replaceAll(/\/\*[^*]*\*\//g, '')
    .replaceAll(/\s+/g, '')
    .toLowerCase();
  if (HIDING_DECLARATIONS.some((pattern) => pattern.test(text))) return true;
  const clipsOverflow = /(?:^|;)overflow(?:-[xy])?:(?:hidden|clip)/.test(text);
  if (clipsOverflow && /(?:^|;)(?:max-)?(?:width|height):[01](?:px)?(?:!important)?(?:;|$)/.test(text)) return true;
  const color = /(?:^|;)color:([^;!]+)/.exec(text)?.[1];
  return color !== undefined && color === /(?:^|;)background(?:-color)?:([^;!]+)/.exec(text)?.[1];
}
