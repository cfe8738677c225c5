/** Thrown by `assert` when Parley's internal state is inconsistent. Never thrown because of input. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** Checks internal state. Input is parsed and rejected with other errors, never asserted. @throws AssertionError */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}
