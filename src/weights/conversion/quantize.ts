/** Number of values that share a scale. The runtime's kernels require a power of two of at least 16. */
export const BLOCK_SIZE = 32;

/** The code for zero. */
export const ZERO_CODE = 128;

/** Quantizes floats to 8-bit codes with one scale per block: value = (code − ZERO_CODE) × scale. */
export function quantize(values: Float32Array): { readonly codes: Uint8Array; readonly scales: Float32Array } {
  const codes = new Uint8Array(values.length);
  const scales = new Float32Array(values.length / BLOCK_SIZE);
  for (let block = 0; block < scales.length; block++) {
    const blockValues = values.subarray(block * BLOCK_SIZE, (block + 1) * BLOCK_SIZE);
    let largest = 0;
    for (const value of blockValues) largest = Math.max(largest, Math.abs(value));
    // Avoids a division by zero for a block of zeros.
    const scale = Math.fround(largest / 127 || 1e-12);
    scales[block] = scale;
    for (let i = 0; i < BLOCK_SIZE; i++) {
      const code = Math.round((blockValues[i] ?? 0) / scale) + ZERO_CODE;
      codes[block * BLOCK_SIZE + i] = Math.max(0, Math.min(255, code));
    }
  }
  return { codes, scales };
}
