import { tableToAutomaton, type Automaton } from './automaton.ts';
import { exploreStates } from './explore-states.ts';
import { createMultipleTracker } from './multiple-tracker.ts';
import type { WorkBudget } from './work-budget.ts';

/** A range in units of 10^−`places`. */
export interface UnsignedUnitRange {
  /** At least 0. */
  readonly low: bigint;
  /** At least `low`. */
  readonly high: bigint;
  readonly places: number;
  /** Divisor of all numbers in the range; 1 for no restriction. */
  readonly multiple: bigint;
}

type BoundComparison = 'below' | 'equal' | 'above';

/** State after the first characters of a number. */
interface NumberPrefix {
  readonly part: 'none' | 'zero' | 'whole' | 'point' | 'fraction';
  /** Digits before the point. */
  readonly whole: number;
  /** Digits after it. */
  readonly fraction: number;
  /** Comparison of the digits read with the bounds' digits; lengths are compared when the integer part ends. */
  readonly low: BoundComparison;
  readonly high: BoundComparison;
  /** State of the multiple tracker. */
  readonly multipleState: number;
}

const DIGITS = Array.from({ length: 10 }, (_, pushDigit) => pushDigit);
const POINT = DIGITS.length;
const SYMBOLS = [...DIGITS.map((pushDigit) => 0x30 + pushDigit), 0x2e].map((codePoint) => [
  { from: codePoint, to: codePoint },
]);

/** Creates the automaton of numbers without sign and exponent, with at most `places` decimals, final zeros included. */
export function createUnsignedNumberAutomaton(
  { low, high, places, multiple }: UnsignedUnitRange,
  work: WorkBudget,
): Automaton {
  const multipleTracker = createMultipleTracker(multiple);
  const [lower, upper] = [splitDigits(low, places), splitDigits(high, places)];

  const table = exploreStates<NumberPrefix>({
    symbols: SYMBOLS,
    work,
    startNode: { part: 'none', whole: 0, fraction: 0, low: 'equal', high: 'equal', multipleState: 0 },
    getKey: ({ part, whole, fraction, low: toLow, high: toHigh, multipleState }) =>
      `${part} ${whole} ${fraction} ${toLow} ${toHigh} ${multipleState}`,
    accepts: isComplete,
    getTargets: (prefix) =>
      SYMBOLS.map((_, symbol) => (symbol === POINT ? pushPoint(prefix) : pushDigit(prefix, symbol))),
  });
  return tableToAutomaton(table, work);

  function pushDigit(prefix: NumberPrefix, value: number): NumberPrefix | undefined {
    const multipleState = multipleTracker.pushDigit(prefix.multipleState, value);
    if (prefix.part === 'point' || prefix.part === 'fraction') {
      if (prefix.fraction === places) return undefined;
      const compare = (side: BoundComparison, { fraction }: DecimalDigits): BoundComparison =>
        compareDigit(side, fraction[prefix.fraction], value);
      const sides = { low: compare(prefix.low, lower), high: compare(prefix.high, upper) };
      return { ...prefix, ...sides, part: 'fraction', fraction: prefix.fraction + 1, multipleState };
    }
    if (prefix.part === 'zero' || prefix.whole === upper.whole.length) return undefined;
    const compare = (side: BoundComparison, { whole }: DecimalDigits): BoundComparison =>
      compareDigit(side, whole[prefix.whole], value);
    const sides = { low: compare(prefix.low, lower), high: compare(prefix.high, upper) };
    const part = prefix.part === 'none' && value === 0 ? 'zero' : 'whole';
    return { ...prefix, ...sides, part, whole: prefix.whole + 1, multipleState };
  }

  function pushPoint(prefix: NumberPrefix): NumberPrefix | undefined {
    if (places === 0 || (prefix.part !== 'zero' && prefix.part !== 'whole')) return undefined;
    return { ...prefix, ...compareWholePart(prefix), part: 'point', whole: 0 };
  }

  function isComplete(prefix: NumberPrefix): boolean {
    if (prefix.part === 'none' || prefix.part === 'point') return false;
    const sides = prefix.part === 'fraction' ? prefix : compareWholePart(prefix);
    if (prefix.part !== 'zero' && !multipleTracker.isMultiple(prefix.multipleState, places - prefix.fraction))
      return false;
    const isLow =
      sides.low === 'below' || (sides.low === 'equal' && /[1-9]/.test(lower.fraction.slice(prefix.fraction)));
    return !isLow && sides.high !== 'above';
  }

  /** Compares at the end of the integer part: the number with more digits is larger. */
  function compareWholePart({ whole, low: toLow, high: toHigh }: NumberPrefix): {
    readonly low: BoundComparison;
    readonly high: BoundComparison;
  } {
    const compare = (side: BoundComparison, bound: DecimalDigits): BoundComparison =>
      whole === bound.whole.length ? side : whole < bound.whole.length ? 'below' : 'above';
    return { low: compare(toLow, lower), high: compare(toHigh, upper) };
  }
}

interface DecimalDigits {
  readonly whole: string;
  readonly fraction: string;
}

function splitDigits(units: bigint, places: number): DecimalDigits {
  const digits = String(units).padStart(places + 1, '0');
  return { whole: digits.slice(0, digits.length - places), fraction: digits.slice(digits.length - places) };
}

/** Compares one digit with the bound's digit; without one, lengths decide later. */
function compareDigit(side: BoundComparison, pushDigit: string | undefined, value: number): BoundComparison {
  if (side !== 'equal' || pushDigit === undefined || Number(pushDigit) === value) return side;
  return value < Number(pushDigit) ? 'below' : 'above';
}
