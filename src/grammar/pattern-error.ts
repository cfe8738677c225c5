/** A regular expression that is not one, or that says more than a grammar can. The message says what, for the caller, and begins with a verb: whoever refuses it knows where the expression stands. */
export class PatternError extends RangeError {
  override readonly name = 'PatternError';
}
