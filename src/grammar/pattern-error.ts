/**
 * Thrown for a regular expression that is invalid or not supported. The message begins with a verb; the caller adds its
 * path.
 */
export class PatternError extends RangeError {
  override readonly name = 'PatternError';
}
