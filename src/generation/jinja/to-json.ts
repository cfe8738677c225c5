import { Dict } from './dict.ts';
import { areEqual, compareOrder } from './operators.ts';
import type { Rendering } from './rendering.ts';
import { formatFloat, joinTexts, toText } from './text.ts';
import { Float, getText, getTypeName, isString, Tuple, typeError, type Value } from './values.ts';

/** The options of Python's `json.dumps` that the filter `tojson` has. */
export interface JsonOptions {
  readonly ensureAscii: boolean;
  /** The text of one level of indentation; undefined for one line. */
  readonly indent: string | undefined;
  readonly itemSeparator: string;
  readonly keySeparator: string;
  readonly sortKeys: boolean;
}

/** Writes a value as JSON, as Python's `json.dumps` does. @throws TemplateError `TypeError` */
export function toJson(rendering: Rendering, value: Value, options: JsonOptions, level = 0): string {
  rendering.spend(1);
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number' || value instanceof Float) return formatJsonNumber(rendering, value);
  if (isString(value)) return quote(rendering, getText(value), options);
  if (Array.isArray(value) || value instanceof Tuple) {
    const items = Array.isArray(value) ? value : value.items;
    const texts = items.map((item) => toJson(rendering, item, options, level + 1));
    return bracket(rendering, '[]', texts, options, level);
  }
  if (!(value instanceof Dict)) throw typeError(`Object of type ${getTypeName(value)} is not JSON serializable`);
  const entries = [...value.entries()];
  if (options.sortKeys) entries.sort(([a], [b]) => (areEqual(rendering, a, b) ? 0 : compareOrder(rendering, a, b)));
  const texts = entries.map(
    ([key, item]) =>
      quote(rendering, toKeyText(rendering, key), options) +
      options.keySeparator +
      toJson(rendering, item, options, level + 1),
  );
  return bracket(rendering, '{}', texts, options, level);
}

const formatJsonNumber = (rendering: Rendering, value: number | Float): string => {
  const number = typeof value === 'number' ? value : value.value;
  if (Number.isNaN(number)) return 'NaN';
  if (!Number.isFinite(number)) return number > 0 ? 'Infinity' : '-Infinity';
  return typeof value === 'number' ? toText(rendering, value) : formatFloat(value.value);
};

function toKeyText(rendering: Rendering, key: Value): string {
  if (isString(key)) return getText(key);
  if (key === null) return 'null';
  if (typeof key === 'boolean') return String(key);
  if (typeof key === 'number' || key instanceof Float) return formatJsonNumber(rendering, key);
  throw typeError(`keys must be str, int, float, bool or None, not ${getTypeName(key)}`);
}

function bracket(
  rendering: Rendering,
  [open = '', close = '']: string,
  texts: readonly string[],
  { indent, itemSeparator }: JsonOptions,
  level: number,
): string {
  if (texts.length === 0) return open + close;
  if (indent === undefined) return open + joinTexts(rendering, texts, itemSeparator) + close;
  rendering.spendChars(indent.length * (level + 1) * texts.length);
  const line = `\n${indent.repeat(level + 1)}`;
  return `${open}${line}${joinTexts(rendering, texts, itemSeparator + line)}\n${indent.repeat(level)}${close}`;
}

function quote(rendering: Rendering, text: string, { ensureAscii }: JsonOptions): string {
  rendering.spendChars(text.length);
  const json = JSON.stringify(text);
  if (ensureAscii)
    return json.replace(/[\x80-\uffff]/g, (unit) =>
      rendering.isStandIn(unit) ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  // JavaScript escapes lone surrogates, which Python writes as they are.
  return json.includes('\\ud') ? json.replace(LONE_SURROGATE, decodeSurrogate) : json;
}

/** An escaped surrogate, whose backslash is not escaped itself. */
const LONE_SURROGATE = /(?<!\\)((?:\\\\)*)\\u(d[89a-f][\da-f]{2})/g;

const decodeSurrogate = (_: string, before: string, hex: string): string =>
  before + String.fromCharCode(Number.parseInt(hex, 16));
