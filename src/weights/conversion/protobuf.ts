/*
 * The three ways in which protobuf writes a field, as far as graphs need them. `field` is its number in the message.
 */

/** Seven bits of a number in each byte, the lowest first; a negative one as 64 bits. */
function varint(value: number | bigint): Buffer {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  do {
    const low = Number(rest & 127n);
    rest >>= 7n;
    bytes.push(rest > 0n ? low | 128 : low);
  } while (rest > 0n);
  return Buffer.from(bytes);
}

/** A whole number. */
export const int = (field: number, value: number): Buffer => Buffer.concat([varint(field << 3), varint(value)]);

/** A 32-bit float. */
export function float(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([varint((field << 3) | 5), bytes]);
}

/** A text, raw bytes, or another message. */
export function block(field: number, value: Buffer | string): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  return Buffer.concat([varint((field << 3) | 2), varint(bytes.length), bytes]);
}
