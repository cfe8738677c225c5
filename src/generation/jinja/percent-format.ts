import { Dict } from './dict.ts';
import { toRepr, toText } from './text.ts';
import { likeValue } from './html.ts';
import { formatNumber, parseSpec, type FormatSpec } from './number-format.ts';
import type { Rendering } from './rendering.ts';
import { TemplateError } from './template-error.ts';
import { getText, getTypeName, type Markup, toNumber, Tuple, typeError, Undefined, type Value } from './values.ts';

const DIRECTIVE = /%(?:\(([^)]*)\))?([-+ 0#]*)(\*|\d+)?(?:\.(\*|\d*))?[hlL]?(.)/gs;

/** Python's `text % values`. @throws TemplateError `TypeError` or `ValueError` */
export function formatPercent(rendering: Rendering, format: string | Markup, values: Value): Value {
  const items = values instanceof Tuple ? values.items : [values];
  let used = 0;
  const next = (): Value => {
    const item = items[used++];
    if (item === undefined) throw typeError('not enough arguments for format string');
    return item;
  };
  const text = getText(format).replace(
    DIRECTIVE,
    (_, key: string | undefined, flags: string, width = '', precision: string | undefined, letter: string) => {
      if (letter === '%') return '%';
      const size = width === '*' ? String(toNumber(next()) ?? '') : width;
      const digits = precision === '*' ? String(toNumber(next()) ?? '') : precision;
      const value = key === undefined ? next() : lookUp(values, key);
      return formatValue(rendering, value, letter, { flags, width: size, precision: digits });
    },
  );
  if (used < items.length && !(values instanceof Dict) && !(values instanceof Undefined))
    throw typeError('not all arguments converted during string formatting');
  rendering.spendChars(text.length);
  return likeValue(format, text);
}

function lookUp(values: Value, key: string): Value {
  if (!(values instanceof Dict)) throw typeError('format requires a mapping');
  const value = values.get(key);
  if (value === undefined) throw new TemplateError('KeyError', `'${key}'`);
  return value;
}

interface Directive {
  readonly flags: string;
  readonly width: string;
  readonly precision: string | undefined;
}

function formatValue(
  rendering: Rendering,
  value: Value,
  letter: string,
  { flags, width, precision }: Directive,
): string {
  const align = flags.includes('-') ? '<' : '>';
  const zero = flags.includes('0') && align === '>' ? '0' : '';
  const sign = flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '';
  const spec: FormatSpec = { ...parseSpec(''), align, width: Number(width || 0), sign };
  rendering.spendChars(spec.width);
  if (letter === 's' || letter === 'r' || letter === 'a') {
    const text = letter === 's' ? toText(rendering, value) : toRepr(rendering, value);
    const cut = precision === undefined ? text : [...text].slice(0, Number(precision)).join('');
    return align === '<' ? cut.padEnd(spec.width) : cut.padStart(spec.width);
  }
  if (letter === 'c') return typeof value === 'number' ? String.fromCodePoint(value) : toText(rendering, value);
  if (!'diouxXeEfFgG'.includes(letter))
    throw new TemplateError('ValueError', `unsupported format character '${letter}'`);
  const number = toNumber(value);
  if (number === undefined) throw typeError(`%${letter} format: a real number is required, not ${getTypeName(value)}`);
  const isWhole = 'diouxX'.includes(letter);
  const type = letter === 'i' || letter === 'u' ? 'd' : letter;
  return formatNumber(isWhole ? Math.trunc(number) : number, isWhole, {
    ...spec,
    type,
    fill: zero || ' ',
    align: zero ? '=' : align,
    precision: isWhole || precision === undefined ? undefined : Number(precision),
    alternate: flags.includes('#'),
  });
}
