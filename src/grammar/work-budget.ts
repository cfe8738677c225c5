import { AutomatonLimitError } from './automaton-limit.ts';

/** Limits the total work for the automata of one grammar: each automaton is limited, but a schema may need hundreds. */
export interface WorkBudget {
  /** Counts steps. @throws AutomatonLimitError above the limit, and on every later call. */
  add(steps: number): void;
  /** Steps counted so far. */
  readonly stepsDone: number;
}

/** @param max Maximum number of steps; a step takes less than a microsecond. */
export function createWorkBudget(max: number): WorkBudget {
  let done = 0;
  return {
    add(steps) {
      done += steps;
      if (done > max)
        throw new AutomatonLimitError(
          `needs, together with all other patterns and ranges of the schema, more than ${max} steps to compile`,
        );
    },
    get stepsDone() {
      return done;
    },
  };
}

/** Budget without a limit, for automata of known size. */
export const UNLIMITED_WORK: WorkBudget = { add: () => undefined, stepsDone: 0 };
