import { AUTOMATON_STATES_EXPLORED_MAX } from './limits.ts';
import { AutomatonLimitError } from './automaton-limit.ts';

/**
 * Recognizes multiples of a divisor digit by digit, except a lone 0. Its state is a number; 0 before the first digit.
 */
export interface MultipleTracker {
  pushDigit(state: number, digit: number): number;
  /** Tells whether the digits read, followed by `missing` zeros, are a multiple. */
  isMultiple(state: number, missing: number): boolean;
}

/**
 * Handles factors of 10 in the divisor by counting final zeros and divides by the rest only: multiples of 1,000 need 4
 * states.
 * @throws AutomatonLimitError when more states are needed than an automaton can have.
 */
export function createMultipleTracker(divisor: bigint): MultipleTracker {
  let oddPart = divisor;
  let requiredZeros = 0;
  for (; oddPart % 10n === 0n; oddPart /= 10n) requiredZeros++;
  if (oddPart > AUTOMATON_STATES_EXPLORED_MAX)
    throw new AutomatonLimitError(`cannot recognize multiples of ${divisor}`);
  const modulus = Number(oddPart);

  // A state is zeros × modulus + remainder: the number of final zeros read, and the remainder of the digits before
  // them.
  const push = (state: number, digit: number): number => {
    const [zeros, remainder] = [Math.floor(state / modulus), state % modulus];
    if (digit === 0 && zeros < requiredZeros) return state + modulus;
    if (digit === 0) return zeros * modulus + ((remainder * 10) % modulus);
    let shifted = remainder * 10;
    for (let zero = 0; zero < zeros; zero++) shifted = (shifted % modulus) * 10;
    return (shifted + digit) % modulus;
  };
  return {
    pushDigit: push,
    isMultiple(state, missing) {
      let last = state;
      for (let zero = 0; zero < missing; zero++) last = push(last, 0);
      return last === requiredZeros * modulus;
    },
  };
}
