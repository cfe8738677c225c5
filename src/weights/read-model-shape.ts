import { open, type FileHandle } from 'node:fs/promises';
import { omitNullish } from '../lib/omit-nullish.ts';

/** Facts from the header of a GGUF file about the memory that each token in the context takes. */
export interface ModelShape {
  /** Size of the keys and values of all layers for one token, at two bytes per number. */
  readonly cacheBytesPerToken: number;
  /** Context length that the model was trained with; absent when the file does not state it. */
  readonly contextTokens?: number;
}

/** The model's own metadata precedes that of its vocabulary, which is long and not needed. */
const READ_BYTES_MAX = 1 << 20;

/** Sizes in bytes of GGUF's value types of fixed length, by type number. */
const FIXED_BYTES: Readonly<Record<number, number>> = {
  0: 1,
  1: 1,
  2: 2,
  3: 2,
  4: 4,
  5: 4,
  6: 4,
  7: 1,
  10: 8,
  11: 8,
  12: 8,
};
const STRING = 8;
const ARRAY = 9;

/** Reads the shape of a model. Returns undefined when the file does not state it or is no GGUF file. */
export async function readModelShape(path: string): Promise<ModelShape | undefined> {
  const file = await open(path, 'r');
  try {
    return metadataToShape(readMetadata(await readHead(file)));
  } finally {
    await file.close();
  }
}

async function readHead(file: FileHandle): Promise<Buffer> {
  const buffer = Buffer.alloc(READ_BYTES_MAX);
  const { bytesRead } = await file.read(buffer, 0, READ_BYTES_MAX, 0);
  return buffer.subarray(0, bytesRead);
}

type Value = string | number | readonly number[];

/** Reads the metadata before the vocabulary. A value that extends beyond the bytes read is left out. */
function readMetadata(bytes: Buffer): ReadonlyMap<string, Value> {
  const entries = new Map<string, Value>();
  if (bytes.subarray(0, 4).toString('latin1') !== 'GGUF') return entries;
  let offset = 16;
  const readUint64 = (): number => Number(bytes.readBigUInt64LE((offset += 8) - 8));
  const readString = (): string => {
    const length = readUint64();
    return bytes.subarray(offset, (offset += length)).toString('utf8');
  };
  const readValue = (type: number): Value => {
    if (type === STRING) return readString();
    if (type === ARRAY) {
      const itemType = bytes.readUInt32LE((offset += 4) - 4);
      const length = readUint64();
      return Array.from({ length }, () => Number(readValue(itemType)));
    }
    const length = FIXED_BYTES[type] ?? bytes.length;
    offset += length;
    if (offset > bytes.length) throw new RangeError('a value extends beyond the bytes read');
    switch (type) {
      case 6:
        return bytes.readFloatLE(offset - length);
      case 12:
        return bytes.readDoubleLE(offset - length);
      default:
        return length === 8 ? Number(bytes.readBigUInt64LE(offset - 8)) : bytes.readUIntLE(offset - length, length);
    }
  };
  try {
    for (let remaining = readUint64(); remaining > 0; remaining--) {
      const key = readString();
      if (key.startsWith('tokenizer.')) break;
      entries.set(key, readValue(bytes.readUInt32LE((offset += 4) - 4)));
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return entries;
}

function metadataToShape(metadata: ReadonlyMap<string, Value>): ModelShape | undefined {
  const architecture = metadata.get('general.architecture');
  const readNumber = (name: string): number | undefined => {
    const value = metadata.get(`${String(architecture)}.${name}`);
    return typeof value === 'number' ? value : undefined;
  };
  const layers = readNumber('block_count');
  const heads = readNumber('attention.head_count');
  if (layers === undefined || heads === undefined || heads === 0) return undefined;
  const perHead = (readNumber('embedding_length') ?? 0) / heads;
  const keyValueWidth =
    (readNumber('attention.key_length') ?? perHead) + (readNumber('attention.value_length') ?? perHead);
  const keyValueHeads = metadata.get(`${String(architecture)}.attention.head_count_kv`) ?? heads;
  const keyValueHeadCount =
    typeof keyValueHeads === 'object'
      ? keyValueHeads.reduce((sum, each) => sum + each, 0)
      : Number(keyValueHeads) * layers;
  const cacheBytesPerToken = 2 * keyValueWidth * keyValueHeadCount;
  const contextTokens = readNumber('context_length');
  return cacheBytesPerToken > 0 ? { cacheBytesPerToken, ...omitNullish({ contextTokens }) } : undefined;
}
