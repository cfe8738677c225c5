import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { present } from '../lib/present.ts';

/** What the beginning of a model file says of the memory that a token takes while it is in the context. */
export interface ModelShape {
  /** Of keys and values of all layers, at two bytes a number. */
  readonly cacheBytesPerToken: number;
  /** What it was trained with; absent where it does not say. */
  readonly contextTokens?: number;
}

/** Metadata of what a model is made of stand before those of its vocabulary, which are long and not wanted. */
const READ_BYTES_MAX = 1 << 20;

/** The format's numbers for types of values, and the bytes of those that have a fixed length. */
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
const LIST = 9;

/** Undefined where the file does not say it, or is no such file: nothing can be said of its memory then. */
export async function readModelShape(path: string): Promise<ModelShape | undefined> {
  const file = await open(path, 'r');
  try {
    return shapeOf(readMetadata(await head(file)));
  } finally {
    await file.close();
  }
}

async function head(file: FileHandle): Promise<Buffer> {
  const buffer = Buffer.alloc(READ_BYTES_MAX);
  const { bytesRead } = await file.read(buffer, 0, READ_BYTES_MAX, 0);
  return buffer.subarray(0, bytesRead);
}

type Value = string | number | readonly number[];

/** Whatever stands before the vocabulary; what does not end within the bytes that were read is not there. */
function readMetadata(bytes: Buffer): ReadonlyMap<string, Value> {
  const found = new Map<string, Value>();
  if (bytes.subarray(0, 4).toString('latin1') !== 'GGUF') return found;
  let at = 16;
  const whole = (): number => Number(bytes.readBigUInt64LE((at += 8) - 8));
  const text = (): string => {
    const length = whole();
    return bytes.subarray(at, (at += length)).toString('utf8');
  };
  const value = (type: number): Value => {
    if (type === STRING) return text();
    if (type === LIST) {
      const of = bytes.readUInt32LE((at += 4) - 4);
      const length = whole();
      return Array.from({ length }, () => Number(value(of)));
    }
    const length = FIXED_BYTES[type] ?? bytes.length;
    at += length;
    if (at > bytes.length) throw new RangeError('a value ends behind what was read');
    switch (type) {
      case 6:
        return bytes.readFloatLE(at - length);
      case 12:
        return bytes.readDoubleLE(at - length);
      default:
        return length === 8 ? Number(bytes.readBigUInt64LE(at - 8)) : bytes.readUIntLE(at - length, length);
    }
  };
  try {
    for (let left = whole(); left > 0; left--) {
      const key = text();
      if (key.startsWith('tokenizer.')) break;
      found.set(key, value(bytes.readUInt32LE((at += 4) - 4)));
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return found;
}

function shapeOf(metadata: ReadonlyMap<string, Value>): ModelShape | undefined {
  const kind = metadata.get('general.architecture');
  const number = (name: string): number | undefined => {
    const value = metadata.get(`${String(kind)}.${name}`);
    return typeof value === 'number' ? value : undefined;
  };
  const layers = number('block_count');
  const heads = number('attention.head_count');
  if (layers === undefined || heads === undefined || heads === 0) return undefined;
  const perHead = (number('embedding_length') ?? 0) / heads;
  const width = (number('attention.key_length') ?? perHead) + (number('attention.value_length') ?? perHead);
  const ofLayers = metadata.get(`${String(kind)}.attention.head_count_kv`) ?? heads;
  const keyHeads =
    typeof ofLayers === 'object' ? ofLayers.reduce((sum, each) => sum + each, 0) : Number(ofLayers) * layers;
  const cacheBytesPerToken = 2 * width * keyHeads;
  const contextTokens = number('context_length');
  return cacheBytesPerToken > 0 ? { cacheBytesPerToken, ...present({ contextTokens }) } : undefined;
}
