import { fromTable, type Automaton } from './automaton.ts';
import { explore } from './explore.ts';
import { createMultiples } from './multiples.ts';
import type { Work } from './work.ts';

/** All in units of 10^−`places`. */
export interface UnsignedRange {
  /** At least 0. */
  readonly low: bigint;
  /** At least `low`. */
  readonly high: bigint;
  readonly places: number;
  /** What is told must be a multiple of it: 1 for all. */
  readonly multiple: bigint;
}

type Side = 'below' | 'equal' | 'above';

/** What is known of a number after its first characters. */
interface Prefix {
  readonly part: 'none' | 'zero' | 'whole' | 'point' | 'fraction';
  /** Digits before the point. */
  readonly whole: number;
  /** Digits after it. */
  readonly fraction: number;
  /** Of what was read, to as many digits of the bounds; lengths are not compared until the whole part ends. */
  readonly low: Side;
  readonly high: Side;
  /** What `Multiples` remembers. */
  readonly memory: number;
}

const DIGITS = Array.from({ length: 10 }, (_, digit) => digit);
const POINT = DIGITS.length;
const LETTERS = [...DIGITS.map((digit) => 0x30 + digit), 0x2e].map((codePoint) => [{ from: codePoint, to: codePoint }]);

/** Numbers without sign and exponent, with at most `places` decimal places, zeros at the end included. */
export function unsignedNumbers({ low, high, places, multiple }: UnsignedRange, work: Work): Automaton {
  const multiples = createMultiples(multiple);
  const [lower, upper] = [split(low, places), split(high, places)];

  const table = explore<Prefix>({
    letters: LETTERS,
    work,
    start: { part: 'none', whole: 0, fraction: 0, low: 'equal', high: 'equal', memory: 0 },
    keyOf: ({ part, whole, fraction, low: toLow, high: toHigh, memory }) =>
      `${part} ${whole} ${fraction} ${toLow} ${toHigh} ${memory}`,
    accepts: isEnd,
    step: (prefix) => LETTERS.map((_, letter) => (letter === POINT ? point(prefix) : digit(prefix, letter))),
  });
  return fromTable(table, work);

  function digit(prefix: Prefix, value: number): Prefix | undefined {
    const memory = multiples.push(prefix.memory, value);
    if (prefix.part === 'point' || prefix.part === 'fraction') {
      if (prefix.fraction === places) return undefined;
      const compare = (side: Side, { fraction }: Digits): Side => next(side, fraction[prefix.fraction], value);
      const sides = { low: compare(prefix.low, lower), high: compare(prefix.high, upper) };
      return { ...prefix, ...sides, part: 'fraction', fraction: prefix.fraction + 1, memory };
    }
    if (prefix.part === 'zero' || prefix.whole === upper.whole.length) return undefined;
    const compare = (side: Side, { whole }: Digits): Side => next(side, whole[prefix.whole], value);
    const sides = { low: compare(prefix.low, lower), high: compare(prefix.high, upper) };
    const part = prefix.part === 'none' && value === 0 ? 'zero' : 'whole';
    return { ...prefix, ...sides, part, whole: prefix.whole + 1, memory };
  }

  function point(prefix: Prefix): Prefix | undefined {
    if (places === 0 || (prefix.part !== 'zero' && prefix.part !== 'whole')) return undefined;
    return { ...prefix, ...sidesOf(prefix), part: 'point', whole: 0 };
  }

  function isEnd(prefix: Prefix): boolean {
    if (prefix.part === 'none' || prefix.part === 'point') return false;
    const sides = prefix.part === 'fraction' ? prefix : sidesOf(prefix);
    if (prefix.part !== 'zero' && !multiples.isMultiple(prefix.memory, places - prefix.fraction)) return false;
    const isLow =
      sides.low === 'below' || (sides.low === 'equal' && /[1-9]/.test(lower.fraction.slice(prefix.fraction)));
    return !isLow && sides.high !== 'above';
  }

  /** The whole part has ended: of two whole numbers the one with more digits is larger. */
  function sidesOf({ whole, low: toLow, high: toHigh }: Prefix): { readonly low: Side; readonly high: Side } {
    const compare = (side: Side, bound: Digits): Side =>
      whole === bound.whole.length ? side : whole < bound.whole.length ? 'below' : 'above';
    return { low: compare(toLow, lower), high: compare(toHigh, upper) };
  }
}

interface Digits {
  readonly whole: string;
  readonly fraction: string;
}

function split(units: bigint, places: number): Digits {
  const digits = String(units).padStart(places + 1, '0');
  return { whole: digits.slice(0, digits.length - places), fraction: digits.slice(digits.length - places) };
}

/** `digit` is the bound's; beyond its last, lengths will decide. */
function next(side: Side, digit: string | undefined, value: number): Side {
  if (side !== 'equal' || digit === undefined || Number(digit) === value) return side;
  return value < Number(digit) ? 'below' : 'above';
}
