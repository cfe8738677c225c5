import { formatFloat } from './text.ts';
import { TemplateError } from './template-error.ts';

/** A format specification of Python (`format(value, spec)`). */
export interface FormatSpec {
  readonly fill: string;
  readonly align: string;
  readonly sign: string;
  readonly alternate: boolean;
  readonly width: number;
  readonly grouping: string;
  readonly precision: number | undefined;
  readonly type: string;
}

const SPEC =
  /^(?:(?<fill>.)?(?<align>[<>=^]))?(?<sign>[-+ ])?(?<alternate>#)?(?<zero>0)?(?<width>\d{1,6})?(?<grouping>[,_])?(?:\.(?<precision>\d{1,3}))?(?<type>[a-zA-Z%])?$/su;

/** @throws TemplateError `ValueError` */
export function parseSpec(spec: string): FormatSpec {
  const groups = SPEC.exec(spec)?.groups;
  if (!groups) throw new TemplateError('ValueError', 'Invalid format specifier');
  const { fill, align, sign, alternate, zero, width, grouping, precision, type } = groups;
  return {
    fill: fill ?? (zero && !align ? '0' : ' '),
    align: align ?? (zero ? '=' : ''),
    sign: sign ?? '',
    alternate: alternate !== undefined,
    width: Number(width ?? 0),
    grouping: grouping ?? '',
    precision: precision === undefined ? undefined : Number(precision),
    type: type ?? '',
  };
}

export function pad(text: string, { fill, align, width }: FormatSpec, usual: string): string {
  const missing = width - [...text].length;
  if (missing <= 0) return text;
  const side = align || usual;
  const left = side === '<' ? 0 : side === '^' ? Math.floor(missing / 2) : missing;
  return fill.repeat(left) + text + fill.repeat(missing - left);
}

/** Formats a number by a specification. */
export function formatNumber(value: number, isInteger: boolean, spec: FormatSpec): string {
  const isNegative = value < 0 || Object.is(value, -0);
  const digits = group(formatDigits(Math.abs(value), isInteger, spec), spec.grouping);
  const sign = isNegative ? '-' : spec.sign === '-' ? '' : spec.sign;
  if (spec.align !== '=') return pad(sign + digits, spec, '>');
  return sign + pad(digits, { ...spec, align: '>', width: spec.width - sign.length }, '>');
}

const group = (digits: string, mark: string): string =>
  mark === '' ? digits : digits.replace(/^\d+/, (whole) => whole.replace(/\B(?=(?:\d{3})+$)/g, mark));

const RADIXES: Readonly<Record<string, readonly [radix: number, prefix: string]>> = {
  b: [2, '0b'],
  o: [8, '0o'],
  x: [16, '0x'],
  X: [16, '0X'],
};

function formatDigits(value: number, isInteger: boolean, { type, precision, alternate }: FormatSpec): string {
  const radix = RADIXES[type];
  if (radix && isInteger) {
    const digits = value.toString(radix[0]);
    return (alternate ? radix[1] : '') + (type === 'X' ? digits.toUpperCase() : digits);
  }
  if (isInteger && (type === '' || type === 'd' || type === 'n')) return BigInt(value).toString();
  if (isInteger && type === 'c') return String.fromCodePoint(value);
  switch (type) {
    case 'f':
    case 'F':
      return toFixed(value, precision ?? 6);
    case '%':
      return `${toFixed(value * 100, precision ?? 6)}%`;
    case 'e':
    case 'E': {
      const text = fixExponent(value.toExponential(precision ?? 6));
      return type === 'E' ? text.toUpperCase() : text;
    }
    case 'g':
    case 'G':
    case 'n':
      return formatGeneral(value, precision ?? 6, type === 'G');
    case '':
      return precision === undefined ? formatFloat(value) : formatGeneral(value, precision, false);
    default:
      throw new TemplateError('ValueError', `Unknown format code '${type}'`);
  }
}

const fixExponent = (text: string): string =>
  text.replace(/e([+-])(\d)$/, (_, sign: string, digit: string) => `e${sign}0${digit}`);

function formatGeneral(value: number, precision: number, isUpper: boolean): string {
  const digits = Math.max(1, precision);
  const exponent = Number(value.toExponential(digits - 1).split('e')[1] ?? 0);
  const isShort = exponent >= -4 && exponent < digits;
  const text = isShort ? value.toFixed(Math.max(0, digits - 1 - exponent)) : value.toExponential(digits - 1);
  const trimmed = text.includes('.') ? text.replace(/\.?0+(?=e|$)/, '') : text;
  return isUpper ? fixExponent(trimmed).toUpperCase() : fixExponent(trimmed);
}

/** Rounds half to even on the exact binary value, as Python does; JavaScript rounds exact halves up. */
export function toFixed(value: number, digits: number): string {
  const places = Math.min(100, digits);
  if (!Number.isFinite(value) || value >= 1e21) return Number.isFinite(value) ? `${BigInt(value)}` : formatFloat(value);
  const text = value.toFixed(places);
  const shift = 2 * value * 10 ** places;
  // An exact half exists only where twice the shifted value is an odd integer.
  if (places > 22 || !Number.isSafeInteger(shift) || shift % 2 === 0 || shift / (2 * 10 ** places) !== value)
    return text;
  const isExact = value
    .toFixed(Math.min(100, places + 30))
    .replace(/0+$/, '')
    .endsWith('5');
  const lower = Math.floor(shift / 2);
  return isExact && lower % 2 === 0 ? (lower / 10 ** places).toFixed(places) : text;
}
