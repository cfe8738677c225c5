/**
 * A language whose automaton or rules would be too large, or too laborious to find. The message says which limit, and begins
 * with a verb.
 */
export class AutomatonLimitError extends RangeError {
  override readonly name = 'AutomatonLimitError';
}
