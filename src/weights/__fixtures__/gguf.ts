/**
 * Writes the model file format of llama.cpp as far as small test models need it: version 3, 32-bit numbers,
 * little-endian.
 */

/**
 * A metadata value. Non-negative integers are written as u32, and as i32 in arrays; `{ float }` is written as a 32-bit
 * float.
 */
export type GgufValue = string | number | boolean | { readonly float: number } | readonly string[] | readonly number[];

export interface GgufTensor {
  /** Dimensions, the contiguous one first: `[in, out]` for a matrix. */
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

const VERSION = 3;

/** Alignment of each tensor's data, in bytes. */
const ALIGNMENT = 32;

const TYPE = { u32: 4, i32: 5, float: 6, bool: 7, string: 8, array: 9 } as const;

/** The type code of tensors with 32-bit floats. */
const TENSOR_F32 = 0;

export function encodeGguf(
  metadata: Readonly<Record<string, GgufValue>>,
  tensors: Readonly<Record<string, GgufTensor>>,
): Uint8Array {
  const keys = Object.entries(metadata);
  const data = Object.entries(tensors).map(([name, tensor]) => ({ name, ...tensor }));
  let offset = 0;
  const infos = data.map(({ name, shape, values }) => {
    const info = [encodeText(name), encodeU32(shape.length), ...shape.map(encodeU64), encodeU32(TENSOR_F32), encodeU64(offset)];
    offset += alignUp(values.byteLength);
    return Buffer.concat(info);
  });
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    encodeU32(VERSION),
    encodeU64(data.length),
    encodeU64(keys.length),
    ...keys.flatMap(([key, value]) => [encodeText(key), encodeValue(value)]),
    ...infos,
  ]);
  return Buffer.concat([padToAlignment(head), ...data.map(({ values }) => padToAlignment(encodeFloats(values)))]);
}

function encodeValue(value: GgufValue): Buffer {
  if (typeof value === 'string') return Buffer.concat([encodeU32(TYPE.string), encodeText(value)]);
  if (typeof value === 'boolean') return Buffer.concat([encodeU32(TYPE.bool), Buffer.of(value ? 1 : 0)]);
  if (typeof value === 'number') return Buffer.concat([encodeU32(TYPE.u32), encodeU32(value)]);
  if ('float' in value) return Buffer.concat([encodeU32(TYPE.float), encodeFloats(Float32Array.of(value.float))]);
  const type = typeof value[0] === 'string' ? TYPE.string : TYPE.i32;
  const items = value.map((item) => (typeof item === 'string' ? encodeText(item) : encodeU32(item)));
  return Buffer.concat([encodeU32(TYPE.array), encodeU32(type), encodeU64(value.length), ...items]);
}

function encodeText(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([encodeU64(bytes.length), bytes]);
}

function encodeU32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function encodeU64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function encodeFloats(values: Float32Array): Buffer {
  const bytes = Buffer.alloc(values.byteLength);
  for (const [index, value] of values.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes;
}

const alignUp = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

const padToAlignment = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc(alignUp(bytes.length) - bytes.length)]);
