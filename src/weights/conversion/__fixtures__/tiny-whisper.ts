/** A variable of a test model file: values that 16-bit floats can represent, or one small integer. */
export interface TestVariable {
  readonly name: string;
  readonly shape: readonly number[];
  readonly values: readonly number[];
  readonly type?: 'float16' | 'int16';
}

const TYPE_NUMBERS = { int16: 2, float16: 4 } as const;

/** Writes a model file in CTranslate2's format. */
export function writeTestCt2(
  variables: readonly TestVariable[],
  { format = 6, aliases = [] }: { readonly format?: number; readonly aliases?: readonly (readonly [string, string])[] } = {},
): Buffer {
  const parts = [uint32(format), text('WhisperSpec'), uint32(3), uint32(variables.length)];
  for (const { name, shape, values, type = 'float16' } of variables) {
    const bytes = Buffer.alloc(2 * values.length);
    for (const [at, value] of values.entries())
      if (type === 'int16') bytes.writeInt16LE(value, 2 * at);
      else bytes.writeUInt16LE(halfBits(value), 2 * at);
    parts.push(text(name), Buffer.of(shape.length), ...shape.map(uint32));
    parts.push(Buffer.of(TYPE_NUMBERS[type]), uint32(bytes.length), bytes);
  }
  parts.push(uint32(aliases.length), ...aliases.flatMap((pair) => pair.map(text)));
  return Buffer.concat(parts);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(`${value}\0`);
  const length = Buffer.alloc(2);
  length.writeUInt16LE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Returns the bits of a 16-bit float for a number that it can represent. */
function halfBits(value: number): number {
  if (value === 0) return 0;
  const exponent = Math.floor(Math.log2(Math.abs(value)));
  const fraction = Math.round((Math.abs(value) / 2 ** exponent - 1) * 1024);
  return (value < 0 ? 0x8000 : 0) | ((exponent + 15) << 10) | fraction;
}

/** Two heads, width 64, one layer each, 5 frequency bands, 6 positions in time, 7 tokens. */
const [WIDTH, HEADS, BANDS, FRAMES, TOKENS, POSITIONS] = [64, 2, 5, 6, 7, 9];

/** Creates the variables of a complete but tiny Whisper model. */
export function createTinyWhisper(): readonly TestVariable[] {
  let seed = 0;
  const some = (name: string, ...shape: readonly number[]): TestVariable => ({
    name,
    shape,
    values: Array.from({ length: shape.reduce((all, dim) => all * dim, 1) }, () => ((seed = (seed * 7 + 3) % 65) - 32) / 64),
  });
  const linear = (name: string, rows: number, columns: number): readonly TestVariable[] => [
    some(`${name}/weight`, rows, columns),
    some(`${name}/bias`, rows),
  ];
  const norm = (name: string): readonly TestVariable[] => [some(`${name}/gamma`, WIDTH), some(`${name}/beta`, WIDTH)];
  const layer = (name: string): readonly TestVariable[] => [
    ...norm(`${name}/self_attention/layer_norm`),
    ...linear(`${name}/self_attention/linear_0`, 3 * WIDTH, WIDTH),
    ...linear(`${name}/self_attention/linear_1`, WIDTH, WIDTH),
    ...norm(`${name}/ffn/layer_norm`),
    ...linear(`${name}/ffn/linear_0`, 2 * WIDTH, WIDTH),
    ...linear(`${name}/ffn/linear_1`, WIDTH, 2 * WIDTH),
  ];
  const heads = (half: string): TestVariable => ({ name: `${half}/num_heads`, shape: [], values: [HEADS], type: 'int16' });
  return [
    heads('encoder'),
    heads('decoder'),
    some('encoder/conv1/weight', WIDTH, BANDS, 3),
    some('encoder/conv1/bias', WIDTH),
    some('encoder/conv2/weight', WIDTH, WIDTH, 3),
    some('encoder/conv2/bias', WIDTH),
    some('encoder/position_encodings/encodings', FRAMES, WIDTH),
    ...layer('encoder/layer_0'),
    ...norm('encoder/layer_norm'),
    some('decoder/embeddings/weight', TOKENS, WIDTH),
    some('decoder/position_encodings/encodings', POSITIONS, WIDTH),
    ...layer('decoder/layer_0'),
    ...norm('decoder/layer_0/attention/layer_norm'),
    ...linear('decoder/layer_0/attention/linear_0', WIDTH, WIDTH),
    ...linear('decoder/layer_0/attention/linear_1', 2 * WIDTH, WIDTH),
    ...linear('decoder/layer_0/attention/linear_2', WIDTH, WIDTH),
    ...norm('decoder/layer_norm'),
  ];
}
