import { type Decimal, toDecimal } from './decimal.ts';
import type { SchemaKeywords } from './keywords.ts';

export function checkNumber(keywords: SchemaKeywords, value: number, at: string): string | undefined {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = keywords;
  if (minimum !== undefined && value < minimum) return `${at} must be at least ${minimum}`;
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return `${at} must be above ${exclusiveMinimum}`;
  if (maximum !== undefined && value > maximum) return `${at} must be at most ${maximum}`;
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) return `${at} must be below ${exclusiveMaximum}`;
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) return `${at} must be a multiple of ${multipleOf}`;
  return undefined;
}

/** Compares decimal notations: 0.3 is a multiple of 0.1, although not as binary fractions. */
function isMultiple(value: number, step: number): boolean {
  const [a, b] = [toDecimal(value), toDecimal(step)];
  const exponent = Math.min(a.exponent, b.exponent);
  const scaled = ({ digits, exponent: decimalExponent }: Decimal): bigint =>
    digits * 10n ** BigInt(decimalExponent - exponent);
  return scaled(a) % scaled(b) === 0n;
}
