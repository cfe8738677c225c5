/** Thrown where a value would take too long to check. */
export class CheckLimitError extends RangeError {
  override readonly name = 'CheckLimitError';
}
