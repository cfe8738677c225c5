import { createRankingModel } from './ranking-model.ts';

/** A malformed model file, and what the check of its header says about it; undefined when the header is valid. */
export interface MalformedFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly problem: RegExp | undefined;
}

const HUGE = 2n ** 60n;

/** Offsets in the file's fixed beginning. */
const VERSION_AT = 4;
const TENSOR_COUNT_AT = 8;
const ENTRY_COUNT_AT = 16;

type Edit = (bytes: Buffer) => Buffer | void;

const edit = (change: Edit): Buffer => {
  const bytes = Buffer.from(createRankingModel());
  return change(bytes) ?? bytes;
};

/** Returns where the value type of a metadata entry is; the value follows after 4 bytes. */
function findType(bytes: Buffer, key: string): number {
  const keyBytes = Buffer.from(key);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(keyBytes.length));
  return bytes.indexOf(Buffer.concat([length, keyBytes])) + 8 + keyBytes.length;
}

/** Returns where the number of dimensions of a tensor is. */
const findDimensions = findType;

const uint64 = (bytes: Buffer, at: number, value: bigint): void => void bytes.writeBigUInt64LE(value, at);

const UINT32 = 4;
const STRING = 8;
const ARRAY = 9;
const TOKENS = 'tokenizer.ggml.tokens';
const TOKEN_TYPE = 'tokenizer.ggml.token_type';
const FIRST_TENSOR = 'token_embd.weight';
const LAST_TENSOR = 'cls.output.bias';

const EDITS: readonly (readonly [name: string, problem: RegExp | undefined, change: Edit])[] = [
  ['nothing', /the header extends beyond the end/, () => Buffer.alloc(0)],
  ['a page instead of a model', /no GGUF file: it begins with "<htm"/, () => Buffer.from(`<html>${' '.repeat(1000)}`)],
  ['another magic number', /no GGUF file/, (bytes) => void bytes.write('GGML')],
  ['an old version', /version is 1/, (bytes) => void bytes.writeUInt32LE(1, VERSION_AT)],
  ['the other byte order', /version is 50331648/, (bytes) => void bytes.writeUInt32BE(3, VERSION_AT)],
  ['a huge number of tensors', /number of tensors is 1152/, (bytes) => uint64(bytes, TENSOR_COUNT_AT, HUGE)],
  ['more tensors than there are', /./, (bytes) => uint64(bytes, TENSOR_COUNT_AT, 30_000n)],
  ['a huge number of entries', /number of metadata entries is 1152/, (bytes) => uint64(bytes, ENTRY_COUNT_AT, HUGE)],
  ['more entries than there are', /./, (bytes) => uint64(bytes, ENTRY_COUNT_AT, 4_000n)],
  ['a huge key', /length of the metadata key 0 is 1152/, (bytes) => uint64(bytes, ENTRY_COUNT_AT + 8, HUGE)],
  [
    'a huge text',
    /length of the metadata "general\.name" is 1152/,
    (bytes) => uint64(bytes, findType(bytes, 'general.name') + 4, HUGE),
  ],
  [
    'a huge array of texts',
    /length of metadata "tokenizer\.ggml\.tokens" is 1152/,
    (bytes) => uint64(bytes, findType(bytes, TOKENS) + 8, HUGE),
  ],
  [
    'an array of texts that is longer than the file',
    /./,
    (bytes) => uint64(bytes, findType(bytes, TOKENS) + 8, 200_000_000n),
  ],
  [
    'an array of numbers that is longer than the file',
    /the header extends beyond the end/,
    (bytes) => uint64(bytes, findType(bytes, TOKEN_TYPE) + 8, 10_000_000n),
  ],
  [
    'a huge text in an array',
    /length of a text in "tokenizer\.ggml\.tokens" is 1152/,
    (bytes) => uint64(bytes, findType(bytes, TOKENS) + 16, HUGE),
  ],
  [
    'an array of arrays',
    /"tokenizer\.ggml\.token_type" has the unknown type 9/,
    (bytes) => void bytes.writeUInt32LE(ARRAY, findType(bytes, TOKEN_TYPE) + 4),
  ],
  ['an unknown type', /unknown type 77/, (bytes) => void bytes.writeUInt32LE(77, findType(bytes, 'bert.block_count'))],
  [
    'an architecture that is a number',
    /./,
    (bytes) => void bytes.writeUInt32LE(UINT32, findType(bytes, 'general.architecture')),
  ],
  [
    'an array of numbers with the type of texts',
    /./,
    (bytes) => void bytes.writeUInt32LE(STRING, findType(bytes, TOKEN_TYPE) + 4),
  ],
  [
    'token types of another type of the same size',
    /token_type is not an array of the expected type/,
    (bytes) => void bytes.writeUInt32LE(6, findType(bytes, TOKEN_TYPE) + 4),
  ],
  [
    'fewer token types than tokens',
    /token_type has fewer items/,
    (bytes) => {
      const start = findType(bytes, TOKEN_TYPE) + 8;
      uint64(bytes, start, 1n);
      const count = bytes.readBigUInt64LE(findType(bytes, TOKENS) + 8);
      return Buffer.concat([bytes.subarray(0, start + 12), bytes.subarray(start + 8 + 4 * Number(count))]);
    },
  ],
  [
    'the same key twice',
    /the metadata key "bert\.embedding_length" occurs twice/,
    (bytes) => void bytes.write('bert.embedding_length', bytes.indexOf('bert.attention.causal')),
  ],
  [
    'a tensor of many dimensions',
    /has 4000 dimensions/,
    (bytes) => void bytes.writeUInt32LE(4000, findDimensions(bytes, FIRST_TENSOR)),
  ],
  [
    'a tensor that is larger than the file',
    /"token_embd\.weight" extends beyond the end of the file/,
    (bytes) => uint64(bytes, findDimensions(bytes, FIRST_TENSOR) + 4, 2n ** 40n),
  ],
  [
    'a tensor whose size overflows',
    /"token_embd\.weight" extends beyond the end of the file/,
    (bytes) => {
      uint64(bytes, findDimensions(bytes, FIRST_TENSOR) + 4, 2n ** 63n);
      uint64(bytes, findDimensions(bytes, FIRST_TENSOR) + 12, 2n ** 63n);
    },
  ],
  [
    'a tensor outside of the file',
    /"cls\.output\.bias" starts at 1152/,
    (bytes) => uint64(bytes, findDimensions(bytes, LAST_TENSOR) + 16, HUGE),
  ],
  [
    'tensors that overlap',
    /"token_types\.weight" starts at 0 instead of/,
    (bytes) => uint64(bytes, findDimensions(bytes, 'token_types.weight') + 24, 0n),
  ],
  [
    'a tensor with an incomplete block',
    /"cls\.output\.bias" has an incomplete block/,
    (bytes) => void bytes.writeUInt32LE(12, findDimensions(bytes, LAST_TENSOR) + 12),
  ],
  ['half of the data', /truncated or damaged/, (bytes) => bytes.subarray(0, bytes.length / 2)],
  ['half of the header', /truncated or damaged/, (bytes) => bytes.subarray(0, 1000)],
  // Headers that are valid: only the engine can reject these.
  ['an unknown architecture', undefined, (bytes) => void bytes.write('bart', bytes.indexOf('bert'))],
  [
    'a model with a missing tensor',
    undefined,
    (bytes) => void bytes.write('token_ambd.weight', bytes.indexOf('token_embd.weight')),
  ],
  [
    'a huge number of layers',
    undefined,
    (bytes) => void bytes.writeUInt32LE(0xffff_ffff, findType(bytes, 'bert.block_count') + 4),
  ],
  [
    'no attention heads',
    undefined,
    (bytes) => void bytes.writeUInt32LE(0, findType(bytes, 'bert.attention.head_count') + 4),
  ],
  [
    'a huge number of attention heads',
    undefined,
    (bytes) => void bytes.writeUInt32LE(0xffff_fff0, findType(bytes, 'bert.attention.head_count') + 4),
  ],
  [
    'a tensor of an unknown type',
    undefined,
    (bytes) => void bytes.writeUInt32LE(1000, findDimensions(bytes, FIRST_TENSOR) + 20),
  ],
];

/** Returns model files that are malformed in one way each. */
export const createMalformedFiles = (): readonly MalformedFile[] =>
  EDITS.map(([name, problem, change]) => ({ name, problem, bytes: edit(change) }));

/** Changes a few bytes before the tensors at random, or truncates the file. */
export function mutateGguf(random: () => number, valid: Uint8Array): Uint8Array {
  const bytes = Buffer.from(valid);
  const headerBytes = bytes.indexOf('cls.output.bias') + 50;
  const pick = (end: number): number => Math.floor(random() * end);
  for (let edits = 1 + pick(3); edits > 0; edits--) {
    const at = pick(headerBytes);
    const kind = pick(5);
    if (kind === 0) bytes[at] = pick(256);
    else if (kind === 1) bytes.writeBigUInt64LE(2n ** BigInt(pick(64)), at);
    else if (kind === 2) bytes.writeUInt32LE(pick(14), at);
    else if (kind === 3) bytes.copy(bytes, at, pick(headerBytes), pick(headerBytes));
    else return bytes.subarray(0, pick(bytes.length));
  }
  return bytes;
}
