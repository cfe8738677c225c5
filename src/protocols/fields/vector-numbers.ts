/** Decimal digits that distinguish any two 32-bit floats. */
const FLOAT_DIGITS = 9;

/**
 * Converts components to JSON numbers of at most 9 digits, half as long as doubles; they parse to the same 32-bit
 * floats.
 */
export const vectorToNumbers = (vector: Float32Array): readonly number[] =>
  Array.from(vector, (component) => Number(component.toPrecision(FLOAT_DIGITS)));
