/** Declarations that leave nothing to see of an element; blanks and comments are gone already. */
const HIDING: readonly RegExp[] = [
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

/** Ours: characters of one set of declarations that are looked at. */
const STYLE_CHARS_MAX = 10_000;

/** Whether declarations, as in a `style` attribute, make an element's text invisible. Colours of other elements are not known here. */
export function isHidingStyle(style: string): boolean {
  // Nobody writes as much there to show something.
  if (style.length > STYLE_CHARS_MAX) return true;
  const text = style
    .replaceAll(/\/\*[^*]*\*\//g, '')
    .replaceAll(/\s+/g, '')
    .toLowerCase();
  if (HIDING.some((pattern) => pattern.test(text))) return true;
  const isCut = /(?:^|;)overflow(?:-[xy])?:(?:hidden|clip)/.test(text);
  if (isCut && /(?:^|;)(?:max-)?(?:width|height):[01](?:px)?(?:!important)?(?:;|$)/.test(text)) return true;
  const colour = /(?:^|;)color:([^;!]+)/.exec(text)?.[1];
  return colour !== undefined && colour === /(?:^|;)background(?:-color)?:([^;!]+)/.exec(text)?.[1];
}
