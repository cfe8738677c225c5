import {
  NUMBER_DIGITS_BOUNDED_MAX,
  NUMBER_DIGITS_EXACT_MAX,
  NUMBER_DIGITS_MAX,
  NUMBER_MULTIPLES_LISTED_MAX,
  NUMBER_DECIMALS_MAX,
} from './limits.ts';
import { createTextsAutomaton, uniteAutomata, type Automaton } from './automaton.ts';
import { ceilTo, floorTo, nextDown, nextUp, toDecimal } from './decimal.ts';
import { createUnsignedNumberAutomaton } from './unsigned-number-automaton.ts';
import { UNLIMITED_WORK, type WorkBudget } from './work-budget.ts';

/** The number keywords of JSON Schema. `multipleOf` is above 0. */
export interface NumberRange {
  readonly isInteger: boolean;
  readonly minimum?: number | undefined;
  readonly exclusiveMinimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly exclusiveMaximum?: number | undefined;
  readonly multipleOf?: number | undefined;
}

/** Multiples of `multiple` from `low` to `high`, in units of 10^−`places`. */
interface UnitRange {
  readonly low: bigint;
  readonly high: bigint;
  readonly places: number;
  readonly multiple: bigint;
}

/**
 * Returns the automaton of the numbers as JSON text: without exponent, leading zeros or −0; at most NUMBER_DIGITS_MAX
 * digits before the decimal point where there is no bound, and NUMBER_DECIMALS_MAX after it. Accepts a text only if the
 * nearest double is within all bounds. Multiples are those of the decimal notation (0.07 is a multiple of 0.01), with
 * at most NUMBER_DIGITS_EXACT_MAX digits.
 * @throws RangeError for ranges that such texts cannot express; AutomatonLimitError.
 */
export function numberRangeToAutomaton(
  { isInteger, multipleOf, ...bounds }: NumberRange,
  work = UNLIMITED_WORK,
): Automaton {
  // Rounding a text to a double preserves the order, so that comparing it with the first double inside is enough.
  const min = Math.max(bounds.minimum ?? -Infinity, nextUp(bounds.exclusiveMinimum ?? -Infinity));
  const max = Math.min(bounds.maximum ?? Infinity, nextDown(bounds.exclusiveMaximum ?? Infinity));
  if (Number.isNaN(min) || Number.isNaN(max)) throw new RangeError('a bound is not a number');
  if (min > max) return createTextsAutomaton([]);
  const { places, multiple } = createMultipleStep(isInteger, multipleOf);
  const units = { ...createUnitBounds(min, max, places, multipleOf !== undefined), places, multiple };
  if (units.low > units.high) {
    if (isInteger || multipleOf !== undefined) return createTextsAutomaton([]);
    throw new RangeError(`no number with at most ${NUMBER_DECIMALS_MAX} decimal places lies between the bounds`);
  }
  return unitRangeToAutomaton(units, work);
}

function createMultipleStep(
  isInteger: boolean,
  multipleOf: number | undefined,
): Pick<UnitRange, 'places' | 'multiple'> {
  if (multipleOf === undefined) return { places: isInteger ? 0 : NUMBER_DECIMALS_MAX, multiple: 1n };
  if (!(multipleOf > 0) || multipleOf === Infinity) throw new RangeError('multipleOf must be a number above 0');
  const { digits, exponent } = toDecimal(multipleOf);
  if (exponent >= 0) return { places: 0, multiple: digits * 10n ** BigInt(exponent) };
  // An integer n is a multiple of k/u if n·u is a multiple of k.
  if (isInteger) return { places: 0, multiple: digits / findGreatestCommonDivisor(digits, 10n ** BigInt(-exponent)) };
  if (-exponent > NUMBER_DECIMALS_MAX) {
    throw new RangeError(`multipleOf has more than ${NUMBER_DECIMALS_MAX} decimal places`);
  }
  return { places: -exponent, multiple: digits };
}

/** Converts bounds to units. A missing bound becomes the largest supported number of digits. */
function createUnitBounds(min: number, max: number, places: number, isExact: boolean): Pick<UnitRange, 'low' | 'high'> {
  const unit = 10n ** BigInt(places);
  const limit = isExact ? 10n ** BigInt(NUMBER_DIGITS_EXACT_MAX) - 1n : unit * 10n ** BigInt(NUMBER_DIGITS_MAX) - 1n;
  const bounded = 10 ** NUMBER_DIGITS_BOUNDED_MAX;
  if (min > bounded || max < -bounded)
    throw new RangeError(`numbers beyond 1e${NUMBER_DIGITS_BOUNDED_MAX} are not supported`);
  let low = min < -bounded ? -limit : ceilTo(places, toDecimal(min));
  let high = max > bounded ? limit : floorTo(places, toDecimal(max));
  if (isExact) {
    if (low > limit || high < -limit) {
      throw new RangeError(`multiples with more than ${NUMBER_DIGITS_EXACT_MAX} digits are not supported`);
    }
    return { low: low < -limit ? -limit : low, high: high > limit ? limit : high };
  }
  // The given bound lies beyond the default limit of the other side.
  if (max > bounded && low > high) high = low * 10n;
  if (min < -bounded && high < low) low = high * 10n;
  return { low, high };
}

function unitRangeToAutomaton({ low, high, places, multiple }: UnitRange, work: WorkBudget): Automaton {
  if (multiple > 1n && (high - low) / multiple < NUMBER_MULTIPLES_LISTED_MAX) {
    return createTextsAutomaton(listMultiples({ low, high, places, multiple }), work);
  }
  const positive =
    high < 0n ? undefined : createUnsignedNumberAutomaton({ low: low > 0n ? low : 0n, high, places, multiple }, work);
  if (low >= 0n) return positive ?? createTextsAutomaton([]);
  const negative = prependMinus(
    createUnsignedNumberAutomaton({ low: high < 0n ? -high : 1n, high: -low, places, multiple }, work),
  );
  return positive === undefined ? negative : uniteAutomata(negative, positive, work);
}

function* listMultiples({ low, high, places, multiple }: UnitRange): Generator<string> {
  const first = low + (((-low % multiple) + multiple) % multiple);
  for (let units = first; units <= high; units += multiple) {
    const digits = String(units < 0n ? -units : units).padStart(places + 1, '0');
    const [whole, fraction] = [digits.slice(0, digits.length - places), digits.slice(digits.length - places)];
    yield `${units < 0n ? '-' : ''}${whole}${places > 0 ? `.${fraction}`.replace(/\.?0+$/, '') : ''}`;
  }
}

function prependMinus({ start, states }: Automaton): Automaton {
  const shifted = states.map(({ accepts, transitions }) => ({
    accepts,
    transitions: transitions.map(({ from, to, state }) => ({ from, to, state: state + 1 })),
  }));
  const minus = 0x2d;
  return {
    start: 0,
    states: [{ accepts: false, transitions: [{ from: minus, to: minus, state: start + 1 }] }, ...shifted],
  };
}

function findGreatestCommonDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : findGreatestCommonDivisor(b, a % b);
}
