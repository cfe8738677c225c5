/** A regular expression that is not one, or that says more than a grammar can. The message says what, for the caller. */
export class PatternError extends RangeError {
  override readonly name = 'PatternError';
}
