/** Numbers that share a scale. The runtime's kernels want a power of two from 16 on. */
export const BLOCK = 32;

/** Where zero is among the codes of 8 bits. */
export const ZERO = 128;

/** Codes of 8 bits for floats, and a scale for each block of them: value = (code − ZERO) × scale. */
export function quantize(values: Float32Array): { readonly codes: Uint8Array; readonly scales: Float32Array } {
  const codes = new Uint8Array(values.length);
  const scales = new Float32Array(values.length / BLOCK);
  for (let block = 0; block < scales.length; block++) {
    const of = values.subarray(block * BLOCK, (block + 1) * BLOCK);
    let largest = 0;
    for (const value of of) largest = Math.max(largest, Math.abs(value));
    // A block of zeros must not divide by zero.
    const scale = Math.fround(largest / 127 || 1e-12);
    scales[block] = scale;
    for (let i = 0; i < BLOCK; i++) {
      const code = Math.round((of[i] ?? 0) / scale) + ZERO;
      codes[block * BLOCK + i] = Math.max(0, Math.min(255, code));
    }
  }
  return { codes, scales };
}
