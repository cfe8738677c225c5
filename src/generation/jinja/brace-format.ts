import { Dict } from './dict.ts';
import { createMissing, findItem } from './items.ts';
import { formatNumber, pad, parseSpec } from './number-format.ts';
import type { Rendering } from './rendering.ts';
import { TemplateError } from './template-error.ts';
import { toRepr, toText } from './text.ts';
import {
  getText,
  getTypeName,
  isInteger,
  isString,
  toNumber,
  typeError,
  orElse,
  Undefined,
  type KeywordArguments,
  type Value,
} from './values.ts';

const FIELD = /\{\{|\}\}|\{((?:[^{}]|\{[^{}]*\})*)\}|[{}]/g;
const FIELD_PARTS = /^([^.[!:]*)((?:\.[^.[!:]+|\[[^\]]+\])*)(?:!([rsa]))?(?::(.*))?$/s;

/** Python's `text.format(...)`. @throws TemplateError `ValueError`, `KeyError` or `IndexError` */
export function formatBraces(
  rendering: Rendering,
  format: Value,
  positional: readonly Value[],
  named: KeywordArguments | Value,
): string {
  let next = 0;
  const look = (name: string): Value => {
    if (name === '' || /^\d+$/.test(name)) {
      const value = positional[name === '' ? next++ : Number(name)];
      if (value === undefined)
        throw new TemplateError('IndexError', 'Replacement index out of range for positional args tuple');
      return value;
    }
    const value =
      named instanceof Map
        ? (named.get(name) as Value | undefined)
        : named instanceof Dict
          ? named.get(name)
          : undefined;
    if (value === undefined) throw new TemplateError('KeyError', `'${name}'`);
    return value;
  };
  const expand = (text: string): string =>
    text.replace(FIELD, (match: string, field: string | undefined) => {
      if (match === '{{' || match === '}}') return match.charAt(0);
      const parts = field === undefined ? null : FIELD_PARTS.exec(field);
      if (!parts) throw new TemplateError('ValueError', `Single '${match}' encountered in format string`);
      const [, name = '', path = '', conversion, spec = ''] = parts;
      const value = followPath(rendering, look(name), path);
      const converted =
        conversion === undefined ? value : conversion === 's' ? toText(rendering, value) : toRepr(rendering, value);
      return formatField(rendering, converted, spec.includes('{') ? expand(spec) : spec);
    });
  const text = isString(format) ? expand(getText(format)) : '';
  rendering.spendChars(text.length);
  return text;
}

function followPath(rendering: Rendering, start: Value, path: string): Value {
  let value = start;
  for (const [, attribute, key = ''] of path.matchAll(/\.([^.[]+)|\[([^\]]+)\]/g)) {
    const member = attribute ?? (/^\d+$/.test(key) ? Number(key) : key);
    value = orElse(findItem(rendering, value, member), () => createMissing(rendering, value, member));
    if (value instanceof Undefined) value.fail();
  }
  return value;
}

function formatField(rendering: Rendering, value: Value, text: string): string {
  if (text === '') return toText(rendering, value);
  const spec = parseSpec(text);
  rendering.spendChars(spec.width);
  const number = toNumber(value);
  if (number !== undefined && (typeof value !== 'boolean' || spec.type !== ''))
    return formatNumber(number, isInteger(value) && !'eEfFgG%'.includes(spec.type || ' '), spec);
  if (!isString(value) && typeof value !== 'boolean')
    throw typeError(`unsupported format string passed to ${getTypeName(value)}.__format__`);
  if (spec.type !== '' && spec.type !== 's')
    throw new TemplateError('ValueError', `Unknown format code '${spec.type}' for object of type 'str'`);
  const content = toText(rendering, value);
  return pad(spec.precision === undefined ? content : [...content].slice(0, spec.precision).join(''), spec, '<');
}
