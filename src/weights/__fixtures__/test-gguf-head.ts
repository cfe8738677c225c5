type Value = string | number | readonly number[] | readonly string[];

const encodeString = (value: string): Buffer => {
  const bytes = Buffer.from(value);
  return Buffer.concat([encodeUint64(bytes.length), bytes]);
};
const encodeUint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const encodeUint64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
};
const encodeFloat32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
};

/** GGUF's numbers for value types. */
const UINT32 = 4;
const FLOAT32 = 6;
const STRING = 8;
const ARRAY = 9;

function encodeValue(value: Value): Buffer {
  if (typeof value === 'string') return Buffer.concat([encodeUint32(STRING), encodeString(value)]);
  if (typeof value === 'number') return Number.isInteger(value) ? Buffer.concat([encodeUint32(UINT32), encodeUint32(value)]) : Buffer.concat([encodeUint32(FLOAT32), encodeFloat32(value)]);
  const items = value.map((item) => (typeof item === 'string' ? encodeString(item) : encodeUint32(item)));
  const type = typeof value[0] === 'string' ? STRING : UINT32;
  return Buffer.concat([encodeUint32(ARRAY), encodeUint32(type), encodeUint64(value.length), ...items]);
}

/** Creates the beginning of a GGUF file: metadata without tensors. */
export function createGgufHead(metadata: Readonly<Record<string, Value>>): Buffer {
  const pairs = Object.entries(metadata).map(([key, value]) => Buffer.concat([encodeString(key), encodeValue(value)]));
  return Buffer.concat([Buffer.from('GGUF'), encodeUint32(3), encodeUint64(0), encodeUint64(pairs.length), ...pairs]);
}
