import {
  NUMBER_DIGITS_BOUNDED_MAX,
  NUMBER_DIGITS_EXACT_MAX,
  NUMBER_DIGITS_MAX,
  NUMBER_MULTIPLES_LISTED_MAX,
  NUMBER_PLACES_MAX,
} from '../core/limits.ts';
import { ofTexts, union, type Automaton } from './automaton.ts';
import { ceilTo, floorTo, nextDown, nextUp, toDecimal } from './decimal.ts';
import { unsignedNumbers } from './unsigned-numbers.ts';
import { UNCOUNTED, type Work } from './work.ts';

/** JSON Schema's keywords. `multipleOf` is above 0. */
export interface NumberRange {
  readonly isInteger: boolean;
  readonly minimum?: number | undefined;
  readonly exclusiveMinimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly exclusiveMaximum?: number | undefined;
  readonly multipleOf?: number | undefined;
}

/** Whole multiples of `multiple` from `low` to `high`, in units of 10^−`places`. */
interface Units {
  readonly low: bigint;
  readonly high: bigint;
  readonly places: number;
  readonly multiple: bigint;
}

/**
 * Numbers as JSON text: no exponent, no leading zeros, no −0; at most NUMBER_DIGITS_MAX digits before the point where
 * there is no bound, NUMBER_PLACES_MAX behind it. A text is a member only if the double nearest to it is within all
 * bounds. Multiples are those of the decimal numbers as written (0.07 is one of 0.01) and have at most
 * NUMBER_DIGITS_EXACT_MAX digits. Throws RangeError for ranges that such texts cannot tell, and AutomatonLimitError.
 */
export function fromNumbers({ isInteger, multipleOf, ...bounds }: NumberRange, work = UNCOUNTED): Automaton {
  // Rounding a text to a double keeps the order, so that it is enough to compare it with the first double inside.
  const min = Math.max(bounds.minimum ?? -Infinity, nextUp(bounds.exclusiveMinimum ?? -Infinity));
  const max = Math.min(bounds.maximum ?? Infinity, nextDown(bounds.exclusiveMaximum ?? Infinity));
  if (Number.isNaN(min) || Number.isNaN(max)) throw new RangeError('a bound is not a number');
  if (min > max) return ofTexts([]);
  const { places, multiple } = stepOf(isInteger, multipleOf);
  const units = { ...spanOf(min, max, places, multipleOf !== undefined), places, multiple };
  if (units.low > units.high) {
    if (isInteger || multipleOf !== undefined) return ofTexts([]);
    throw new RangeError(`no number with at most ${NUMBER_PLACES_MAX} decimal places lies between the bounds`);
  }
  return membersOf(units, work);
}

function stepOf(isInteger: boolean, multipleOf: number | undefined): Pick<Units, 'places' | 'multiple'> {
  if (multipleOf === undefined) return { places: isInteger ? 0 : NUMBER_PLACES_MAX, multiple: 1n };
  if (!(multipleOf > 0) || multipleOf === Infinity) throw new RangeError('multipleOf must be a number above 0');
  const { digits, exponent } = toDecimal(multipleOf);
  if (exponent >= 0) return { places: 0, multiple: digits * 10n ** BigInt(exponent) };
  // An integer n is a multiple of k/u if n·u is one of k.
  if (isInteger) return { places: 0, multiple: digits / greatestDivisor(digits, 10n ** BigInt(-exponent)) };
  if (-exponent > NUMBER_PLACES_MAX) {
    throw new RangeError(`multipleOf has more than ${NUMBER_PLACES_MAX} decimal places`);
  }
  return { places: -exponent, multiple: digits };
}

/** Bounds in units; where there is none, as many digits as are let through. */
function spanOf(min: number, max: number, places: number, isExact: boolean): Pick<Units, 'low' | 'high'> {
  const unit = 10n ** BigInt(places);
  const limit = isExact ? 10n ** BigInt(NUMBER_DIGITS_EXACT_MAX) - 1n : unit * 10n ** BigInt(NUMBER_DIGITS_MAX) - 1n;
  const bounded = 10 ** NUMBER_DIGITS_BOUNDED_MAX;
  if (min > bounded || max < -bounded)
    throw new RangeError(`numbers beyond 1e${NUMBER_DIGITS_BOUNDED_MAX} are not told`);
  let low = min < -bounded ? -limit : ceilTo(places, toDecimal(min));
  let high = max > bounded ? limit : floorTo(places, toDecimal(max));
  if (isExact) {
    if (low > limit || high < -limit) {
      throw new RangeError(`multiples with more than ${NUMBER_DIGITS_EXACT_MAX} digits are not told`);
    }
    return { low: low < -limit ? -limit : low, high: high > limit ? limit : high };
  }
  // One bound lies beyond where the other side would end by itself.
  if (max > bounded && low > high) high = low * 10n;
  if (min < -bounded && high < low) low = high * 10n;
  return { low, high };
}

function membersOf({ low, high, places, multiple }: Units, work: Work): Automaton {
  if (multiple > 1n && (high - low) / multiple < NUMBER_MULTIPLES_LISTED_MAX) {
    return ofTexts(multiplesOf({ low, high, places, multiple }), work);
  }
  const positive = high < 0n ? undefined : unsignedNumbers({ low: low > 0n ? low : 0n, high, places, multiple }, work);
  if (low >= 0n) return positive ?? ofTexts([]);
  const negative = afterMinus(unsignedNumbers({ low: high < 0n ? -high : 1n, high: -low, places, multiple }, work));
  return positive === undefined ? negative : union(negative, positive, work);
}

function* multiplesOf({ low, high, places, multiple }: Units): Generator<string> {
  const first = low + (((-low % multiple) + multiple) % multiple);
  for (let units = first; units <= high; units += multiple) {
    const digits = String(units < 0n ? -units : units).padStart(places + 1, '0');
    const [whole, fraction] = [digits.slice(0, digits.length - places), digits.slice(digits.length - places)];
    yield `${units < 0n ? '-' : ''}${whole}${places > 0 ? `.${fraction}`.replace(/\.?0+$/, '') : ''}`;
  }
}

function afterMinus({ start, states }: Automaton): Automaton {
  const shifted = states.map(({ accepts, moves }) => ({
    accepts,
    moves: moves.map(({ from, to, state }) => ({ from, to, state: state + 1 })),
  }));
  const minus = 0x2d;
  return { start: 0, states: [{ accepts: false, moves: [{ from: minus, to: minus, state: start + 1 }] }, ...shifted] };
}

function greatestDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestDivisor(b, a % b);
}
