/** Thrown by `assert`: our own state is not what the code relies on. Never thrown because of input. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** Checks our own state. Input is parsed, never asserted. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}
