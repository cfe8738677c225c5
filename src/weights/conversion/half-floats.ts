/** The value of every 16-bit float. A table lookup is many times faster than arithmetic. */
const HALF_FLOAT_VALUES = Float32Array.from({ length: 65_536 }, (_, bits) => {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? Number.NaN : sign * Infinity;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
});

/** Converts little-endian 16-bit floats to 32-bit floats, without loss. */
export function decodeHalfFloats(bytes: Buffer): Float32Array {
  const floats = new Float32Array(bytes.length / 2);
  for (let i = 0; i < floats.length; i++) floats[i] = HALF_FLOAT_VALUES[bytes.readUInt16LE(2 * i)] ?? 0;
  return floats;
}
