import { defineFilter, type Filter } from './define-filter.ts';
import { toFixed } from './number-format.ts';
import type { Rendering } from './rendering.ts';
import { TemplateError } from './template-error.ts';
import {
  orElse,
  createFloat,
  getText,
  getTypeName,
  isInteger,
  isString,
  toNumber,
  typeError,
  Undefined,
  type Value,
} from './values.ts';

const FLOAT = /^[+-]?(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/** Python's `float(text)`; undefined for a text that is no number. */
function parseFloatText(text: string): number | undefined {
  const trimmed = text.trim();
  if (FLOAT.test(trimmed)) return Number(trimmed.replaceAll('_', ''));
  if (/^[+-]?inf(?:inity)?$/i.test(trimmed)) return trimmed.startsWith('-') ? -Infinity : Infinity;
  return /^[+-]?nan$/i.test(trimmed) ? Number.NaN : undefined;
}

const PREFIXES: Readonly<Record<number, RegExp>> = { 2: /^0b/i, 8: /^0o/i, 16: /^0x/i };

/** Python's `int(text, base)`; undefined for a text that is no integer. */
function parseInteger(text: string, base: number): number | undefined {
  const [, sign = '', rest = ''] = /^([+-]?)(.*)$/s.exec(text.trim()) ?? [];
  const digits = rest.replace(PREFIXES[base] ?? /^(?!)/, '').replace(/(?<=\w)_(?=\w)/g, '');
  const isValid = digits !== '' && [...digits].every((digit) => Number.parseInt(digit, 36) < base);
  return isValid ? Number.parseInt(sign + digits, base) + 0 : undefined;
}

const toInteger = defineFilter('int', ['default', 'base'], 0, (_, value, args) => {
  const fallback = orElse(args.get(0), () => 0);
  const number = toNumber(value);
  if (number !== undefined) {
    if (!Number.isFinite(number)) {
      if (Number.isNaN(number)) return fallback;
      throw new TemplateError('OverflowError', 'cannot convert float infinity to integer');
    }
    return Math.trunc(number) + 0;
  }
  if (value instanceof Undefined) value.fail();
  if (!isString(value)) return fallback;
  const whole = parseInteger(getText(value), args.integer(1, 10));
  if (whole !== undefined) return whole;
  const float = parseFloatText(getText(value));
  return float === undefined || Number.isNaN(float) ? fallback : Math.trunc(float) + 0;
});

const toFloat = defineFilter('float', ['default'], 0, (_, value, args) => {
  if (value instanceof Undefined) value.fail();
  const number = isString(value) ? parseFloatText(getText(value)) : toNumber(value);
  return number === undefined ? orElse(args.get(0), () => createFloat(0)) : createFloat(number);
});

const round = defineFilter('round', ['precision', 'method'], 0, (_, value, args) => {
  const precision = args.integer(0, 0);
  const method = args.text(1, 'common');
  if (!['common', 'ceil', 'floor'].includes(method))
    throw new TemplateError('FilterArgumentError', 'method must be common, ceil or floor');
  const number = requireNumber(value);
  const scale = 10 ** precision;
  if (method !== 'common') {
    const rounded = method === 'ceil' ? Math.ceil(number * scale) : Math.floor(number * scale);
    return createFloat(rounded / scale);
  }
  const rounded = precision >= 0 ? Number(roundHalfEven(number, precision)) : Math.round(number * scale) / scale;
  return isInteger(value) ? rounded : createFloat(rounded);
});

const roundHalfEven = (number: number, digits: number): string =>
  number < 0 ? `-${toFixed(-number, digits)}` : toFixed(number, digits);

function requireNumber(value: Value): number {
  if (value instanceof Undefined) value.fail();
  const number = toNumber(value);
  if (number === undefined) throw typeError(`type ${getTypeName(value)} doesn't define __round__ method`);
  return number;
}

/** Filters of numbers, by their names. */
export const NUMBER_FILTERS: Readonly<Record<string, Filter>> = {
  abs: defineFilter('abs', [], 0, (_rendering: Rendering, value) => {
    if (value instanceof Undefined) value.fail();
    const number = toNumber(value);
    if (number === undefined) throw typeError(`bad operand type for abs(): '${getTypeName(value)}'`);
    return isInteger(value) ? Math.abs(number) : createFloat(Math.abs(number));
  }),
  int: toInteger,
  float: toFloat,
  round,
};
