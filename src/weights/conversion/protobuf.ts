/*
 * The three protobuf field encodings that ONNX graphs need. `field` is the field's number in the message.
 */

/** Encodes an integer in base 128, lowest group first; a negative number as 64 bits. */
function encodeVarint(value: number | bigint): Buffer {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  do {
    const low = Number(rest & 127n);
    rest >>= 7n;
    bytes.push(rest > 0n ? low | 128 : low);
  } while (rest > 0n);
  return Buffer.from(bytes);
}

/** Encodes an integer field. */
export const encodeIntField = (field: number, value: number): Buffer =>
  Buffer.concat([encodeVarint(field << 3), encodeVarint(value)]);

/** Encodes a 32-bit float field. */
export function encodeFloatField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([encodeVarint((field << 3) | 5), bytes]);
}

/** Encodes a length-delimited field: text, bytes, or another message. */
export function encodeBytesField(field: number, value: Buffer | string): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  return Buffer.concat([encodeVarint((field << 3) | 2), encodeVarint(bytes.length), bytes]);
}
