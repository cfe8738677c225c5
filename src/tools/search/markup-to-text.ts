import { Parser } from 'htmlparser2';
import { truncateText, removeInvisibleCharacters } from '../../lib/remove-invisible-characters.ts';

/** Known HTML elements. Other text in angle brackets, such as `List<String>`, is kept as text. */
const MARKUP_ELEMENTS: ReadonlySet<string> = new Set(
  (
    'a abbr acronym address article aside b bdi bdo big blockquote body br button caption center cite code col colgroup dd del ' +
    'details dfn div dl dt em embed fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i iframe img ' +
    'input ins kbd label legend li link main map mark math meta nav noscript object ol option p param picture pre q rp rt ruby s ' +
    'samp script section select small source span strike strong style sub summary sup svg table tbody td template textarea tfoot ' +
    'th thead time title tr track tt u ul var video audio wbr'
  ).split(' '),
);

/** Elements that cause no line break. */
const INLINE_ELEMENTS: ReadonlySet<string> = new Set(
  'a abbr acronym b bdi bdo big cite code del dfn em font i ins kbd label mark q s samp small span strike strong sub sup time tt u var wbr'.split(
    ' ',
  ),
);

const SKIPPED_ELEMENTS: ReadonlySet<string> = new Set([
  'script',
  'style',
  'template',
  'iframe',
  'noscript',
  'svg',
  'object',
]);

/** Chosen: maximum length of the markup as a multiple of the text length. The rest is ignored. */
const MARKUP_FACTOR = 4;

/**
 * Converts a title or a passage of a provider to plain text: removes tags, resolves entities, collapses whitespace,
 * keeps paragraphs.
 *
 * @param charsMax In UTF-16 units; longer text is truncated.
 */
export function markupToText(markup: string, charsMax: number): string {
  const source = markup.slice(0, charsMax * MARKUP_FACTOR);
  let text = '';
  let skippedDepth = 0;
  const parser: Parser = new Parser(
    {
      onopentag(name) {
        if (SKIPPED_ELEMENTS.has(name)) skippedDepth++;
        else if (!MARKUP_ELEMENTS.has(name)) text += source.slice(parser.startIndex, parser.endIndex + 1);
        else if (!INLINE_ELEMENTS.has(name)) text += '\n';
      },
      ontext: (piece) => (text += skippedDepth === 0 ? piece : ''),
      onclosetag(name, isImplied) {
        if (SKIPPED_ELEMENTS.has(name)) skippedDepth = Math.max(0, skippedDepth - 1);
        else if (!MARKUP_ELEMENTS.has(name))
          text += isImplied ? '' : source.slice(parser.startIndex, parser.endIndex + 1);
        else if (!INLINE_ELEMENTS.has(name) && name !== 'br') text += '\n';
      },
    },
    { decodeEntities: true, recognizeSelfClosing: true },
  );
  parser.end(source);
  return truncateText(normalizeWhitespace(removeInvisibleCharacters(text)), charsMax);
}

/** Converts markup to a single line of text. */
export const markupToLine = (markup: string, charsMax: number): string =>
  markupToText(markup, charsMax).replaceAll(/\s+/gu, ' ');

const normalizeWhitespace = (text: string): string =>
  text
    .replaceAll(/[^\S\n]+/gu, ' ')
    .replaceAll(/ ?\n ?/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
