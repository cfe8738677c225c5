import { Dict } from './dict.ts';
import { defineFilter, type Filter } from './define-filter.ts';
import { escapeHtml, likeValue } from './html.ts';
import { countCodePoints, toList } from './iterate.ts';
import { SPACE } from './lexer.ts';
import { formatPercent } from './percent-format.ts';
import type { Rendering } from './rendering.ts';
import { capitalize, splitLines } from './string-case.ts';
import { toCenter } from './string-methods.ts';
import { replace, strip } from './string-search.ts';
import { TemplateError } from './template-error.ts';
import { joinTexts, toRepr, toText } from './text.ts';
import { toJson } from './to-json.ts';
import { getText, isString, Markup, Tuple, typeError, Undefined } from './values.ts';

/** A filter that converts the value's text; safe HTML stays safe. */
const textFilter = (name: string, convert: (text: string) => string): Filter =>
  defineFilter(name, [], 0, (rendering, value) => likeValue(value, convert(toText(rendering, value))));

const title = (text: string): string =>
  text
    .split(new RegExp(`([-${SPACE}({\\[<]+)`))
    .map(capitalize)
    .join('');

const indent = defineFilter('indent', ['width', 'first', 'blank'], 0, (rendering, value, args) => {
  const width = args.get(0) ?? 4;
  const prefix = isString(width) ? getText(width) : ' '.repeat(checkWidth(rendering, args.integer(0, 4)));
  const text = toText(rendering, value);
  const lines = text === '' ? [''] : splitLines(`${text}\n`, false);
  rendering.spendChars(text.length + prefix.length * lines.length);
  const indented = lines.map((line, i) =>
    (i === 0 ? args.isTrue(1) : line !== '' || args.isTrue(2)) ? prefix + line : line,
  );
  return likeValue(value, joinTexts(rendering, indented, '\n'));
});

function checkWidth(rendering: Rendering, width: number): number {
  rendering.spendChars(width);
  return Math.max(0, width);
}

const truncate = defineFilter('truncate', ['length', 'killwords', 'end', 'leeway'], 0, (rendering, value, args) => {
  const text = toText(rendering, value);
  const length = args.integer(0, 255);
  const end = args.text(2, '...');
  const characters = [...text];
  const endLength = countCodePoints(end);
  if (length < endLength) throw new TemplateError('ValueError', `expected length >= ${endLength}, got ${length}`);
  if (characters.length <= length + args.integer(3, 5)) return text;
  const cut = characters.slice(0, length - endLength).join('');
  const lastBlank = cut.lastIndexOf(' ');
  return (args.isTrue(1) || lastBlank < 0 ? cut : cut.slice(0, lastBlank)) + end;
});

const toJsonFilter = defineFilter(
  'tojson',
  ['ensure_ascii', 'indent', 'separators', 'sort_keys'],
  0,
  (rendering, value, args) => {
    const width = args.getOrNone(1);
    const separators = args.getOrNone(2);
    const indentText =
      width === null
        ? undefined
        : isString(width)
          ? getText(width)
          : ' '.repeat(checkWidth(rendering, args.integer(1, 0)));
    const [itemSeparator, keySeparator] =
      separators === null
        ? [indentText === undefined ? ', ' : ',', ': ']
        : toList(rendering, separators).map((separator) => toText(rendering, separator));
    if (value instanceof Undefined) throw typeError('Object of type Undefined is not JSON serializable');
    return toJson(rendering, value, {
      ensureAscii: args.isTrue(0),
      indent: indentText,
      itemSeparator: itemSeparator ?? ', ',
      keySeparator: keySeparator ?? ': ',
      sortKeys: args.isTrue(3),
    });
  },
);

const escapeFilter = (name: string): Filter =>
  defineFilter(name, [], 0, (rendering, value) =>
    value instanceof Markup ? value : new Markup(escapeHtml(rendering, toText(rendering, value))),
  );

/** Filters of texts, by their names. */
export const TEXT_FILTERS: Readonly<Record<string, Filter>> = {
  string: defineFilter('string', [], 0, (rendering, value) => (isString(value) ? value : toText(rendering, value))),
  upper: textFilter('upper', (text) => text.toUpperCase()),
  lower: textFilter('lower', (text) => text.toLowerCase()),
  capitalize: textFilter('capitalize', capitalize),
  title: defineFilter('title', [], 0, (rendering, value) => title(toText(rendering, value))),
  trim: defineFilter('trim', ['chars'], 0, (rendering, value, args) => {
    const characters = args.getOrNone(0) === null ? undefined : args.text(0);
    return likeValue(value, strip(rendering, toText(rendering, value), characters, true, true));
  }),
  replace: defineFilter('replace', ['old', 'new', 'count'], 2, (rendering, value, args) =>
    replace(
      rendering,
      toText(rendering, value),
      toText(rendering, args.getOrNone(0)),
      toText(rendering, args.getOrNone(1)),
      args.getOrNone(2) === null ? -1 : args.integer(2, -1),
    ),
  ),
  center: defineFilter('center', ['width'], 0, (rendering, value, args) => {
    const text = toText(rendering, value);
    const width = checkWidth(rendering, args.integer(0, 80));
    const [left, right] = toCenter(Math.max(0, width - countCodePoints(text)), width);
    return likeValue(value, ' '.repeat(left) + text + ' '.repeat(right));
  }),
  format: (rendering, value, positional, keyword) => {
    if (positional.length > 0 && keyword.size > 0)
      throw new TemplateError('FilterArgumentError', "can't handle positional and keyword arguments at the same time");
    const text = isString(value) ? value : toText(rendering, value);
    return formatPercent(rendering, text, keyword.size > 0 ? Dict.from(keyword) : new Tuple(positional));
  },
  indent,
  truncate,
  wordcount: defineFilter(
    'wordcount',
    [],
    0,
    (rendering, value) => (toText(rendering, value).match(/[\p{L}\p{N}_]+/gu) ?? []).length,
  ),
  tojson: toJsonFilter,
  escape: escapeFilter('escape'),
  e: escapeFilter('e'),
  forceescape: defineFilter(
    'forceescape',
    [],
    0,
    (rendering, value) => new Markup(escapeHtml(rendering, toText(rendering, value))),
  ),
  safe: defineFilter('safe', [], 0, (rendering, value) => new Markup(toText(rendering, value))),
  pprint: defineFilter('pprint', [], 0, (rendering, value) => toRepr(rendering, value)),
};
