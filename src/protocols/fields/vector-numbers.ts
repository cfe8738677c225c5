/** Decimal digits that tell any two 32-bit floats apart. */
const FLOAT_DIGITS = 9;

/** Components as JSON numbers: the shortest that are read back as the same 32-bit floats, half of what doubles take. */
export const numbersOf = (vector: Float32Array): readonly number[] =>
  Array.from(vector, (component) => Number(component.toPrecision(FLOAT_DIGITS)));
