import { Dict, DictView } from './dict.ts';
import type { Rendering } from './rendering.ts';
import {
  Callable,
  Float,
  Generator,
  getTypeName,
  Markup,
  Namespace,
  Range,
  Tuple,
  Undefined,
  type Value,
} from './values.ts';

/** Returns Python's `str()` of a value. */
export function toText(rendering: Rendering, value: Value): string {
  if (typeof value === 'string') return value;
  if (value instanceof Markup) return value.text;
  return value instanceof Undefined ? '' : toRepr(rendering, value);
}

/** Returns Python's `repr()` of a value. */
export function toRepr(rendering: Rendering, value: Value): string {
  rendering.spend(1);
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value).toString() : formatFloat(value);
  if (typeof value === 'string') return quote(rendering, value);
  const join = (items: Iterable<Value>): string => {
    let text = '';
    for (const item of items) {
      text += (text === '' ? '' : ', ') + toRepr(rendering, item);
      rendering.spendChars(text.length / TEXT_GROWTH);
    }
    return text;
  };
  if (Array.isArray(value)) return `[${join(value)}]`;
  if (value instanceof Float) return formatFloat(value.value);
  if (value instanceof Tuple) return `(${join(value.items)}${value.items.length === 1 ? ',' : ''})`;
  if (value instanceof Dict) {
    const items = Array.from(value.entries(), ([k, v]) => `${toRepr(rendering, k)}: ${toRepr(rendering, v)}`);
    return `{${joinTexts(rendering, items, ', ')}}`;
  }
  if (value instanceof DictView) return `${value.typeName}([${join(value.items())}])`;
  if (value instanceof Markup) return `Markup(${quote(rendering, value.text)})`;
  if (value instanceof Undefined) return 'Undefined';
  if (value instanceof Namespace) return `<Namespace ${toRepr(rendering, Dict.from(value.attributes))}>`;
  if (value instanceof Range) return `range(${value.start}, ${value.stop}${value.step === 1 ? '' : `, ${value.step}`})`;
  if (value instanceof Callable) return `<${value.typeName} '${value.name}'>`;
  return `<${value instanceof Generator ? value.typeName : getTypeName(value)} object>`;
}

/** Growing text costs its length only now and then, as JavaScript does not copy it. */
const TEXT_GROWTH = 64;

/** Joins texts after checking the length of the result. */
export function joinTexts(rendering: Rendering, texts: readonly string[], separator: string): string {
  let length = separator.length * texts.length;
  for (const text of texts) length += text.length;
  rendering.spendChars(length);
  rendering.spendElements(texts.length);
  return texts.join(separator);
}

/** Formats a float as Python's `repr` does: 1.0, 1e-05, 1e+16. */
export function formatFloat(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (Object.is(value, -0)) return '-0.0';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    const [digits = '', exponent = ''] = value.toExponential().split('e');
    const power = Math.abs(Number(exponent));
    return `${digits}e${exponent.startsWith('-') ? '-' : '+'}${String(power).padStart(2, '0')}`;
  }
  return Number.isInteger(value) ? `${BigInt(value)}.0` : String(value);
}

const REPR_ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };
/** Characters that Python's `repr` escapes: all but letters, marks, numbers, punctuation, symbols and the space. */
const UNPRINTABLE = /[\\\n\r\t]|(?! )[\p{C}\p{Z}]/gu;

function quote(rendering: Rendering, text: string): string {
  rendering.spendChars(text.length);
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(UNPRINTABLE, (character) =>
    rendering.isStandIn(character)
      ? character
      : (REPR_ESCAPES[character] ?? escapeCodePoint(character.codePointAt(0) ?? 0)),
  );
  return mark + (mark === "'" ? escaped.replaceAll("'", "\\'") : escaped) + mark;
}

function escapeCodePoint(code: number): string {
  const hex = code.toString(16);
  if (code < 0x100) return `\\x${hex.padStart(2, '0')}`;
  return code < 0x1_0000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
