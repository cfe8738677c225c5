import { AutomatonLimitError } from './automaton-limit.ts';

/** Counts what the automata of one schema take together: each is bounded by itself, but a schema may ask for hundreds. */
export interface Work {
  /** @throws AutomatonLimitError beyond the bound, then and ever after. */
  add(steps: number): void;
  /** Steps so far. */
  readonly done: number;
}

/** @param max Steps of less than a microsecond. */
export function createWork(max: number): Work {
  let done = 0;
  return {
    add(steps) {
      done += steps;
      if (done > max)
        throw new AutomatonLimitError(
          `takes, with all other patterns and ranges of the schema, more than ${max} steps to work out`,
        );
    },
    get done() {
      return done;
    },
  };
}

/** For automata whose sizes are known. */
export const UNCOUNTED: Work = { add: () => undefined, done: 0 };
