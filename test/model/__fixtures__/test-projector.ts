type Value = boolean | number | string | readonly number[];

const WIDTH = 32;
const HIDDEN = 64;
const LAYERS = 2;
const PATCH = 16;
const IMAGE = 64;

/** Tokens of an image: one for each patch. */
export const IMAGE_TOKENS = (IMAGE / PATCH) ** 2;

/** Offsets of tensors in a GGUF file are multiples of this. */
const ALIGNMENT = 32;

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const uint64 = (value: number): Buffer => Buffer.concat([uint32(value), uint32(0)]);
const float32 = (value: number): Buffer => Buffer.from(Float32Array.of(value).buffer);
const text = (value: string): Buffer => Buffer.concat([uint64(Buffer.byteLength(value)), Buffer.from(value)]);

/** GGUF's numbers for value types: 4 uint32, 6 float32, 7 boolean, 8 string, 9 array. */
function encodeValue(value: Value): Buffer {
  if (typeof value === 'boolean') return Buffer.concat([uint32(7), Buffer.of(Number(value))]);
  if (typeof value === 'string') return Buffer.concat([uint32(8), text(value)]);
  if (typeof value !== 'number') return Buffer.concat([uint32(9), uint32(6), uint64(value.length), ...value.map(float32)]);
  return Number.isInteger(value) ? Buffer.concat([uint32(4), uint32(value)]) : Buffer.concat([uint32(6), float32(value)]);
}

const listTensors = (embeddingWidth: number): readonly (readonly [name: string, ...dimensions: number[]])[] => [
  ['v.class_embd', WIDTH],
  ['v.patch_embd.weight', PATCH, PATCH, 3, WIDTH],
  ['v.position_embd.weight', WIDTH, IMAGE_TOKENS + 1],
  ...['v.pre_ln', 'v.post_ln'].flatMap((name) => listNorm(name)),
  ...Array.from({ length: LAYERS }, (_, layer) => `v.blk.${layer}`).flatMap((block) => [
    ...['attn_q', 'attn_k', 'attn_v', 'attn_out'].flatMap((name) => listMatrix(`${block}.${name}`, WIDTH, WIDTH)),
    ...['ln1', 'ln2'].flatMap((name) => listNorm(`${block}.${name}`)),
    ...listMatrix(`${block}.ffn_up`, WIDTH, HIDDEN),
    ...listMatrix(`${block}.ffn_down`, HIDDEN, WIDTH),
  ]),
  ...listMatrix('mm.0', WIDTH, embeddingWidth),
  ...listMatrix('mm.2', embeddingWidth, embeddingWidth),
];
const listNorm = (name: string) => [[`${name}.weight`, WIDTH] as const, [`${name}.bias`, WIDTH] as const];
const listMatrix = (name: string, from: number, to: number) => [
  [`${name}.weight`, from, to] as const,
  [`${name}.bias`, to] as const,
];

/**
 * Creates a projector file as llama-server reads it: a tiny image encoder with meaningless numbers, whose output has the width of
 * a text model's embeddings.
 */
export function createTestProjector(embeddingWidth: number): Buffer {
  const metadata: readonly (readonly [string, Value])[] = [
    ['general.architecture', 'clip'],
    ['clip.has_vision_encoder', true],
    ['clip.projector_type', 'mlp'],
    ['clip.use_gelu', true],
    ['clip.vision.image_size', IMAGE],
    ['clip.vision.patch_size', PATCH],
    ['clip.vision.embedding_length', WIDTH],
    ['clip.vision.feed_forward_length', HIDDEN],
    ['clip.vision.block_count', LAYERS],
    ['clip.vision.projection_dim', embeddingWidth],
    ['clip.vision.attention.head_count', 2],
    ['clip.vision.attention.layer_norm_epsilon', 0.000_01],
    ['clip.vision.image_mean', [0.5, 0.5, 0.5]],
    ['clip.vision.image_std', [0.5, 0.5, 0.5]],
  ];
  const tensors = listTensors(embeddingWidth);
  let offset = 0;
  const infos = tensors.map(([name, ...dimensions]) => {
    const info = [text(name), uint32(dimensions.length), ...dimensions.map(uint64), uint32(0), uint64(offset)];
    const bytes = 4 * dimensions.reduce((product, each) => product * each, 1);
    offset += Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
    return Buffer.concat(info);
  });
  const pairs = metadata.map(([key, value]) => Buffer.concat([text(key), encodeValue(value)]));
  const counts = [uint32(3), uint64(tensors.length), uint64(pairs.length)];
  const head = Buffer.concat([Buffer.from('GGUF'), ...counts, ...pairs, ...infos]);
  const numbers = Float32Array.from({ length: offset / 4 }, (_, at) => 0.02 * Math.sin(at));
  return Buffer.concat([head, Buffer.alloc((ALIGNMENT - (head.length % ALIGNMENT)) % ALIGNMENT), Buffer.from(numbers.buffer)]);
}
