import { type Decimal, toDecimal } from './decimal.ts';
import type { Keywords } from './keywords.ts';

export function numberProblem(keywords: Keywords, value: number, at: string): string | undefined {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = keywords;
  if (minimum !== undefined && value < minimum) return `${at} must be at least ${minimum}`;
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return `${at} must be above ${exclusiveMinimum}`;
  if (maximum !== undefined && value > maximum) return `${at} must be at most ${maximum}`;
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) return `${at} must be below ${exclusiveMaximum}`;
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) return `${at} must be a multiple of ${multipleOf}`;
  return undefined;
}

/** In decimals, as they are written: 0.3 is a multiple of 0.1, though not in binary fractions. */
function isMultiple(value: number, step: number): boolean {
  const [a, b] = [toDecimal(value), toDecimal(step)];
  const exponent = Math.min(a.exponent, b.exponent);
  const scaled = ({ digits, exponent: own }: Decimal): bigint => digits * 10n ** BigInt(own - exponent);
  return scaled(a) % scaled(b) === 0n;
}
