/** The file format of llama.cpp's models, as far as small ones need it: version 3, numbers of 32 bits, little-endian. */

/** Whole numbers, none below 0, are written as u32, and in lists as i32; a number that may have a fraction is `{ float }`. */
export type GgufValue = string | number | boolean | { readonly float: number } | readonly string[] | readonly number[];

export interface GgufTensor {
  /** Elements that lie beside each other first: `[in, out]` for a matrix. */
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

const VERSION = 3;

/** Where the numbers of a tensor may begin, in bytes from the first one's. */
const ALIGNMENT = 32;

const TYPE = { u32: 4, i32: 5, float: 6, bool: 7, string: 8, array: 9 } as const;

/** The type of a tensor of 32-bit floats. */
const TENSOR_F32 = 0;

export function ggufFile(
  metadata: Readonly<Record<string, GgufValue>>,
  tensors: Readonly<Record<string, GgufTensor>>,
): Uint8Array {
  const keys = Object.entries(metadata);
  const data = Object.entries(tensors).map(([name, tensor]) => ({ name, ...tensor }));
  let offset = 0;
  const infos = data.map(({ name, shape, values }) => {
    const info = [text(name), u32(shape.length), ...shape.map(u64), u32(TENSOR_F32), u64(offset)];
    offset += aligned(values.byteLength);
    return Buffer.concat(info);
  });
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    u32(VERSION),
    u64(data.length),
    u64(keys.length),
    ...keys.flatMap(([key, value]) => [text(key), typed(value)]),
    ...infos,
  ]);
  return Buffer.concat([padded(head), ...data.map(({ values }) => padded(littleEndian(values)))]);
}

function typed(value: GgufValue): Buffer {
  if (typeof value === 'string') return Buffer.concat([u32(TYPE.string), text(value)]);
  if (typeof value === 'boolean') return Buffer.concat([u32(TYPE.bool), Buffer.of(value ? 1 : 0)]);
  if (typeof value === 'number') return Buffer.concat([u32(TYPE.u32), u32(value)]);
  if ('float' in value) return Buffer.concat([u32(TYPE.float), littleEndian(Float32Array.of(value.float))]);
  const type = typeof value[0] === 'string' ? TYPE.string : TYPE.i32;
  const items = value.map((item) => (typeof item === 'string' ? text(item) : u32(item)));
  return Buffer.concat([u32(TYPE.array), u32(type), u64(value.length), ...items]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function littleEndian(values: Float32Array): Buffer {
  const bytes = Buffer.alloc(values.byteLength);
  for (const [index, value] of values.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes;
}

const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

const padded = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc(aligned(bytes.length) - bytes.length)]);
