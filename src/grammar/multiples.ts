import { AUTOMATON_STATES_EXPLORED_MAX } from '../core/limits.ts';
import { AutomatonLimitError } from './automaton-limit.ts';

/** Tells multiples other than a lone 0 digit by digit. What it remembers of the digits read is a number; 0 before the first. */
export interface Multiples {
  push(memory: number, digit: number): number;
  /** With `missing` zeros after what was read: is it a multiple? */
  isMultiple(memory: number, missing: number): boolean;
}

/**
 * Zeros at the end of the divisor are counted, only the rest of it is divided by: multiples of 1,000 take 4 memories.
 * Throws AutomatonLimitError where there would be more memories than an automaton can have states.
 */
export function createMultiples(divisor: bigint): Multiples {
  let rest = divisor;
  let zerosWanted = 0;
  for (; rest % 10n === 0n; rest /= 10n) zerosWanted++;
  if (rest > AUTOMATON_STATES_EXPLORED_MAX) throw new AutomatonLimitError(`cannot tell multiples of ${divisor}`);
  const modulus = Number(rest);

  // A memory is zeros × modulus + remainder: of what was read, the zeros at its end and the remainder of what precedes
  // them.
  const push = (memory: number, digit: number): number => {
    const [zeros, remainder] = [Math.floor(memory / modulus), memory % modulus];
    if (digit === 0 && zeros < zerosWanted) return memory + modulus;
    if (digit === 0) return zeros * modulus + ((remainder * 10) % modulus);
    let shifted = remainder * 10;
    for (let zero = 0; zero < zeros; zero++) shifted = (shifted % modulus) * 10;
    return (shifted + digit) % modulus;
  };
  return {
    push,
    isMultiple(memory, missing) {
      let last = memory;
      for (let zero = 0; zero < missing; zero++) last = push(last, 0);
      return last === zerosWanted * modulus;
    },
  };
}
