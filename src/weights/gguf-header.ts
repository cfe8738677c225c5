import { open, type FileHandle } from 'node:fs/promises';
import { GGUF_ENTRIES_MAX, GGUF_HEADER_BYTES_MAX, GGUF_TENSORS_MAX } from './limits.ts';

/** A model file is malformed. The message is a clause, such as `its format version is 9, not 2 or 3`. */
export class GgufError extends Error {
  override readonly name = 'GgufError';
}

/** A value of the metadata. Arrays of texts and of many numbers have no `value`; a long text is shortened. */
export interface GgufMetadataValue {
  readonly type: number;
  readonly value?: string | number | readonly number[];
  /** Present for arrays. */
  readonly items?: { readonly type: number; readonly length: number };
}

type OnTensor = (name: string, shape: readonly number[]) => void;

/** Value types of GGUF, by number. */
const TYPE = { uint32: 4, int32: 5, float32: 6, string: 8, array: 9, float64: 12 } as const;

/** Sizes in bytes of the types of fixed length, by type number. */
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

/** Numbers and bytes of one block of a tensor, by type number. Tensors of other types are not measured. */
const BLOCKS: Readonly<Record<number, readonly [numbers: number, bytes: number]>> = {
  0: [1, 4],
  1: [1, 2],
  2: [32, 18],
  3: [32, 20],
  6: [32, 22],
  7: [32, 24],
  8: [32, 34],
  9: [32, 40],
  10: [256, 84],
  11: [256, 110],
  12: [256, 144],
  13: [256, 176],
  14: [256, 210],
  15: [256, 292],
  16: [256, 66],
  17: [256, 74],
  18: [256, 98],
  19: [256, 50],
  20: [32, 18],
  21: [256, 110],
  22: [256, 82],
  23: [256, 136],
  24: [1, 1],
  25: [1, 2],
  26: [1, 4],
  27: [1, 8],
  28: [1, 8],
  29: [256, 56],
  30: [1, 2],
  34: [256, 54],
  35: [256, 66],
  39: [32, 17],
  40: [64, 36],
  41: [128, 18],
  42: [64, 18],
};

const VERSIONS = [2, 3];
const DIMENSIONS_MAX = 4;
const NAME_BYTES_MAX = 63;
/** llama.cpp allows longer keys; no known key has more than 64 bytes. */
const KEY_BYTES_MAX = 1024;
const ALIGNMENT_DEFAULT = 32;

/** Bytes of a text, and numbers of an array, that are kept. Chat templates have up to some 30 KB. */
const KEPT_TEXT_BYTES_MAX = 1024;
const KEPT_TEMPLATE_BYTES_MAX = 256 * 1024;
const KEPT_NUMBERS_MAX = 4096;

/** Bytes that are read at once. */
const WINDOW_BYTES = 1 << 20;

/**
 * Reads the header of a GGUF file and checks all of it, in memory that does not depend on the file: counts and lengths
 * against the limits and the file's size, the types of what the engine reads without a check, and that the data of each
 * tensor is in the file. Returns the metadata.
 * @param onTensor Called with each tensor's name and its dimensions, the contiguous one first.
 * @throws GgufError for a malformed file, which an engine must not load.
 */
export async function readGgufHeader(
  path: string,
  onTensor: OnTensor = () => undefined,
): Promise<ReadonlyMap<string, GgufMetadataValue>> {
  const file = await open(path, 'r');
  try {
    const reader = new HeaderReader(file, (await file.stat()).size);
    const { tensorCount, entryCount } = await readCounts(reader);
    const metadata = await readMetadata(reader, entryCount);
    const alignment = checkMetadata(metadata);
    await checkTensors(reader, tensorCount, { alignment, onTensor });
    return metadata;
  } finally {
    await file.close();
  }
}

async function readCounts(reader: HeaderReader) {
  await reader.load(24);
  const magic = reader.readText(4);
  if (magic !== 'GGUF') throw new GgufError(`it is no GGUF file: it begins with ${JSON.stringify(magic)}`);
  const version = reader.readUint32();
  if (!VERSIONS.includes(version)) throw new GgufError(`its format version is ${version}, not 2 or 3`);
  const tensorCount = reader.readCount('number of tensors', GGUF_TENSORS_MAX);
  const entryCount = reader.readCount('number of metadata entries', GGUF_ENTRIES_MAX);
  return { tensorCount, entryCount };
}

async function readMetadata(reader: HeaderReader, count: number): Promise<ReadonlyMap<string, GgufMetadataValue>> {
  const metadata = new Map<string, GgufMetadataValue>();
  for (let index = 0; index < count; index++) {
    const key = await reader.readString(`metadata key ${index}`, { bytesMax: KEY_BYTES_MAX });
    if (key === '') throw new GgufError(`metadata key ${index} is empty`);
    if (metadata.has(key)) throw new GgufError(`the metadata key ${formatName(key)} occurs twice`);
    await reader.load(4);
    metadata.set(key, await readValue(reader, key, reader.readUint32()));
  }
  return metadata;
}

async function readValue(reader: HeaderReader, key: string, type: number): Promise<GgufMetadataValue> {
  if (type === TYPE.string) {
    const keptBytesMax = key.startsWith('tokenizer.chat_template') ? KEPT_TEMPLATE_BYTES_MAX : KEPT_TEXT_BYTES_MAX;
    return { type, value: await reader.readString(`metadata ${formatName(key)}`, { keptBytesMax }) };
  }
  if (type === TYPE.array) return await readArray(reader, key);
  const sizeBytes = getFixedBytes(type, key);
  await reader.load(sizeBytes);
  return { type, value: reader.readNumber(type, sizeBytes) };
}

async function readArray(reader: HeaderReader, key: string): Promise<GgufMetadataValue> {
  await reader.load(12);
  const type = reader.readUint32();
  const length = reader.readCount(`length of metadata ${formatName(key)}`, GGUF_HEADER_BYTES_MAX);
  const array = { type: TYPE.array, items: { type, length } };
  if (type === TYPE.string) {
    for (let index = 0; index < length; index++) {
      if (!reader.isLoaded(8)) await reader.load(8);
      reader.skip(reader.readCount(`length of a text in ${formatName(key)}`, GGUF_HEADER_BYTES_MAX));
    }
    return array;
  }
  const itemBytes = getFixedBytes(type, key);
  if (length > KEPT_NUMBERS_MAX) {
    reader.skip(length * itemBytes);
    return array;
  }
  await reader.load(length * itemBytes);
  return { ...array, value: Array.from({ length }, () => reader.readNumber(type, itemBytes)) };
}

/** Returns the size of a type of fixed length. No known engine reads arrays of arrays. */
function getFixedBytes(type: number, key: string): number {
  const sizeBytes = FIXED_BYTES[type];
  if (sizeBytes !== undefined) return sizeBytes;
  throw new GgufError(`the metadata ${formatName(key)} has the unknown type ${type}`);
}

/** Checks the entries that the engine uses as they are. Returns the alignment of tensors in bytes. */
function checkMetadata(metadata: ReadonlyMap<string, GgufMetadataValue>): number {
  const architecture = metadata.get('general.architecture');
  if (typeof architecture?.value !== 'string' || architecture.value === '')
    throw new GgufError('its metadata general.architecture is not a text');
  const tokens = metadata.get('tokenizer.ggml.tokens');
  if (tokens && tokens.items?.type !== TYPE.string)
    throw new GgufError('its metadata tokenizer.ggml.tokens is not an array of texts');
  for (const [name, types] of PER_TOKEN) {
    const items = metadata.get(name)?.items;
    if (metadata.has(name) && (!items || !types.includes(items.type)))
      throw new GgufError(`its metadata ${name} is not an array of the expected type`);
    if (items && items.length < (tokens?.items?.length ?? 0))
      throw new GgufError(`its metadata ${name} has fewer items than there are tokens`);
  }
  const alignment = metadata.get('general.alignment');
  const bytes = alignment?.value ?? ALIGNMENT_DEFAULT;
  if (typeof bytes === 'number' && bytes > 0 && Number.isInteger(Math.log2(bytes))) return bytes;
  throw new GgufError('its metadata general.alignment is not a power of two');
}

/** Arrays with one item for each token, and the types that their items may have. */
const PER_TOKEN: readonly (readonly [name: string, types: readonly number[]])[] = [
  ['tokenizer.ggml.scores', [TYPE.float32, TYPE.int32]],
  ['tokenizer.ggml.token_type', [TYPE.int32, TYPE.uint32]],
];

/** Checks that the tensors follow each other, and that the file contains the data of all of them. */
async function checkTensors(
  reader: HeaderReader,
  count: number,
  { alignment, onTensor }: { readonly alignment: number; readonly onTensor: OnTensor },
): Promise<void> {
  const alignUp = (bytes: number): number => Math.ceil(bytes / alignment) * alignment;
  const names = new Set<string>();
  /** Offset of the next tensor in the data; undefined after a tensor of an unknown type. */
  let nextOffset: number | undefined = 0;
  let dataBytes = 0;
  for (let index = 0; index < count; index++) {
    const name = await reader.readString(`name of tensor ${index}`, { bytesMax: NAME_BYTES_MAX });
    const label = `the tensor ${formatName(name)}`;
    if (names.has(name)) throw new GgufError(`${label} occurs twice`);
    names.add(name);
    await reader.load(4);
    const dimensions = reader.readUint32();
    if (dimensions > DIMENSIONS_MAX) throw new GgufError(`${label} has ${dimensions} dimensions`);
    await reader.load(8 * dimensions + 12);
    const shape = Array.from({ length: dimensions }, () => reader.readUint64());
    onTensor(name, shape);
    const [blockNumbers, blockBytes] = BLOCKS[reader.readUint32()] ?? [];
    const offset = reader.readUint64();
    if (nextOffset !== undefined && offset !== nextOffset)
      throw new GgufError(`the data of ${label} starts at ${offset} instead of ${nextOffset}`);
    const isMeasured = blockNumbers !== undefined && blockBytes !== undefined;
    if (isMeasured && (shape[0] ?? 1) % blockNumbers !== 0) throw new GgufError(`${label} has an incomplete block`);
    const sizeBytes = isMeasured ? shape.reduce((product, length) => product * length, blockBytes) / blockNumbers : 0;
    dataBytes = Math.max(dataBytes, offset + sizeBytes);
    if (dataBytes > reader.sizeBytes) throw createTruncatedError(label);
    nextOffset = isMeasured && nextOffset !== undefined ? alignUp(nextOffset + sizeBytes) : undefined;
  }
  if (count > 0 && alignUp(reader.position) + dataBytes > reader.sizeBytes)
    throw createTruncatedError(`the data of ${count} tensors`);
}

const createTruncatedError = (what: string): GgufError =>
  new GgufError(`${what} extends beyond the end of the file, which is truncated or damaged`);

/** Quotes a name of the file, shortened and without control characters. */
const formatName = (name: string): string => JSON.stringify(name.slice(0, NAME_BYTES_MAX));

/** Reads numbers and texts from the beginning of a file through a window that moves forward. */
class HeaderReader {
  readonly sizeBytes: number;
  /** Number of bytes before the next one to read. */
  position = 0;
  private readonly file: FileHandle;
  private window = Buffer.alloc(0);
  private windowStart = 0;

  constructor(file: FileHandle, sizeBytes: number) {
    this.file = file;
    this.sizeBytes = sizeBytes;
  }

  /** Whether the next bytes can be read without `load`. */
  isLoaded(bytes: number): boolean {
    return this.position + bytes <= this.windowStart + this.window.length;
  }

  /** Loads the next bytes, at most WINDOW_BYTES. @throws GgufError if the file is shorter or the header too long. */
  async load(bytes: number): Promise<void> {
    const end = this.position + bytes;
    if (end > this.sizeBytes) throw createTruncatedError('the header');
    if (end > GGUF_HEADER_BYTES_MAX) throw new GgufError(`its header is longer than ${GGUF_HEADER_BYTES_MAX} bytes`);
    if (this.isLoaded(bytes)) return;
    const length = Math.min(WINDOW_BYTES, this.sizeBytes - this.position);
    const { buffer, bytesRead } = await this.file.read(Buffer.allocUnsafe(length), 0, length, this.position);
    this.window = buffer.subarray(0, bytesRead);
    this.windowStart = this.position;
    if (!this.isLoaded(bytes)) throw createTruncatedError('the header');
  }

  skip(bytes: number): void {
    this.position += bytes;
  }

  readText(bytes: number): string {
    const start = this.advance(bytes);
    return this.window.toString('utf8', start, start + bytes);
  }

  readUint32(): number {
    return this.window.readUInt32LE(this.advance(4));
  }

  readUint64(): number {
    return Number(this.window.readBigUInt64LE(this.advance(8)));
  }

  readCount(what: string, max: number): number {
    const count = this.readUint64();
    if (count <= max) return count;
    throw new GgufError(`the ${what} is ${count}, more than ${max}`);
  }

  readNumber(type: number, sizeBytes: number): number {
    if (type === TYPE.float32) return this.window.readFloatLE(this.advance(4));
    if (type === TYPE.float64) return this.window.readDoubleLE(this.advance(8));
    return sizeBytes === 8 ? this.readUint64() : this.window.readUIntLE(this.advance(sizeBytes), sizeBytes);
  }

  /** Reads a text after its length. Returns only its beginning if it is long. */
  async readString(
    what: string,
    { bytesMax = GGUF_HEADER_BYTES_MAX, keptBytesMax = KEPT_TEXT_BYTES_MAX } = {},
  ): Promise<string> {
    await this.load(8);
    const bytes = this.readCount(`length of the ${what}`, bytesMax);
    const keptBytes = Math.min(bytes, keptBytesMax);
    await this.load(keptBytes);
    const text = this.readText(keptBytes);
    this.skip(bytes - keptBytes);
    return text;
  }

  /** Returns where the bytes start in the window, and moves behind them. */
  private advance(bytes: number): number {
    const start = this.position - this.windowStart;
    this.position += bytes;
    return start;
  }
}
