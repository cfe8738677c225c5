/**
 * Thrown when an automaton, or its rules, would be too large or would need too much work. The message names the limit
 * and begins with a verb.
 */
export class AutomatonLimitError extends RangeError {
  override readonly name = 'AutomatonLimitError';
}
