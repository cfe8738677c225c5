type Value = string | number | readonly number[] | readonly string[];

const text = (value: string): Buffer => {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
};
const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const u64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
};
const f32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
};

/** The format's numbers for types of values. */
const UINT32 = 4;
const FLOAT32 = 6;
const STRING = 8;
const LIST = 9;

function typed(value: Value): Buffer {
  if (typeof value === 'string') return Buffer.concat([u32(STRING), text(value)]);
  if (typeof value === 'number') return Number.isInteger(value) ? Buffer.concat([u32(UINT32), u32(value)]) : Buffer.concat([u32(FLOAT32), f32(value)]);
  const items = value.map((item) => (typeof item === 'string' ? text(item) : u32(item)));
  const type = typeof value[0] === 'string' ? STRING : UINT32;
  return Buffer.concat([u32(LIST), u32(type), u64(value.length), ...items]);
}

/** The beginning of a model file: what it says of itself, and no tensors. */
export function ggufHead(metadata: Readonly<Record<string, Value>>): Buffer {
  const pairs = Object.entries(metadata).map(([key, value]) => Buffer.concat([text(key), typed(value)]));
  return Buffer.concat([Buffer.from('GGUF'), u32(3), u64(0), u64(pairs.length), ...pairs]);
}
