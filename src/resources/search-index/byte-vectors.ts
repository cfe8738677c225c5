/** Components of a vector as signed bytes, the largest as 127: a quarter of the room, and a cosine that is right to 0.01. */
export function toBytes(vector: Float32Array): Int8Array {
  let largest = 0;
  for (const component of vector) largest = Math.max(largest, Math.abs(component));
  return Int8Array.from(vector, (component) => (largest > 0 ? Math.round((component * 127) / largest) : 0));
}

/**
 * The vectors of a row that come nearest, by cosine.
 *
 * @param row Vectors as `toBytes` makes them, one after another. @returns undefined where it holds no whole vector.
 */
export function nearestIn(row: Uint8Array, wanted: Int8Array): { at: number; similarity: number } | undefined {
  const components = new Int8Array(row.buffer, row.byteOffset, row.byteLength);
  const { length } = wanted;
  let wantedSquares = 0;
  for (const component of wanted) wantedSquares += component * component;
  let best: { at: number; similarity: number } | undefined;
  for (let at = 0; (at + 1) * length <= components.length && length > 0; at++) {
    let product = 0;
    let squares = 0;
    const offset = at * length;
    for (let index = 0; index < length; index++) {
      const component = components[offset + index] ?? 0;
      product += component * (wanted[index] ?? 0);
      squares += component * component;
    }
    const similarity = squares > 0 && wantedSquares > 0 ? product / Math.sqrt(squares * wantedSquares) : 0;
    if (!best || similarity > best.similarity) best = { at, similarity };
  }
  return best;
}
