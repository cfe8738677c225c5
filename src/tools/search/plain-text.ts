import { Parser } from 'htmlparser2';
import { cutText, visibleText } from '../../lib/visible-text.ts';

/** Elements that mark up a text; what else stands between `<` and `>` is the text's own, such as `List<String>`. */
const MARKUP: ReadonlySet<string> = new Set(
  (
    'a abbr acronym address article aside b bdi bdo big blockquote body br button caption center cite code col colgroup dd del ' +
    'details dfn div dl dt em embed fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i iframe img ' +
    'input ins kbd label legend li link main map mark math meta nav noscript object ol option p param picture pre q rp rt ruby s ' +
    'samp script section select small source span strike strong style sub summary sup svg table tbody td template textarea tfoot ' +
    'th thead time title tr track tt u ul var video audio wbr'
  ).split(' '),
);

/** Those that stand within a line. */
const WITHIN_LINE: ReadonlySet<string> = new Set(
  'a abbr acronym b bdi bdo big cite code del dfn em font i ins kbd label mark q s samp small span strike strong sub sup time tt u var wbr'.split(
    ' ',
  ),
);

const WITHOUT_TEXT: ReadonlySet<string> = new Set([
  'script',
  'style',
  'template',
  'iframe',
  'noscript',
  'svg',
  'object',
]);

/** Ours: how much longer than its text the markup of a passage may be. Beyond: not looked at. */
const MARKUP_FACTOR = 4;

/**
 * The text of what a provider sends as a title or a passage: without tags, with entities as the characters they stand for,
 * blanks as one, paragraphs kept.
 *
 * @param charsMax UTF-16 units; beyond, cut.
 */
export function plainText(markup: string, charsMax: number): string {
  const source = markup.slice(0, charsMax * MARKUP_FACTOR);
  let text = '';
  let silentIn = 0;
  const parser: Parser = new Parser(
    {
      onopentag(name) {
        if (WITHOUT_TEXT.has(name)) silentIn++;
        else if (!MARKUP.has(name)) text += source.slice(parser.startIndex, parser.endIndex + 1);
        else if (!WITHIN_LINE.has(name)) text += '\n';
      },
      ontext: (piece) => (text += silentIn === 0 ? piece : ''),
      onclosetag(name, isImplied) {
        if (WITHOUT_TEXT.has(name)) silentIn = Math.max(0, silentIn - 1);
        else if (!MARKUP.has(name)) text += isImplied ? '' : source.slice(parser.startIndex, parser.endIndex + 1);
        else if (!WITHIN_LINE.has(name) && name !== 'br') text += '\n';
      },
    },
    { decodeEntities: true, recognizeSelfClosing: true },
  );
  parser.end(source);
  return cutText(tidyBlanks(visibleText(text)), charsMax);
}

/** The same in one line. */
export const plainLine = (markup: string, charsMax: number): string =>
  plainText(markup, charsMax).replaceAll(/\s+/gu, ' ');

const tidyBlanks = (text: string): string =>
  text
    .replaceAll(/[^\S\n]+/gu, ' ')
    .replaceAll(/ ?\n ?/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
