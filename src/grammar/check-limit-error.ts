/** Thrown when the check of a value exceeds its limit of steps or depth. */
export class CheckLimitError extends RangeError {
  override readonly name = 'CheckLimitError';
}

export const createDepthError = (): CheckLimitError => new CheckLimitError('is nested too deep to check');
