import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { temporaryFolder } from '../__fixtures__/temporary-folder.ts';
import { tinyWhisper, writeCt2 } from './__fixtures__/tiny-whisper.ts';
import { openCt2File } from './ct2-file.ts';
import { toFloats } from './half-floats.ts';
import { whisperShapeOf } from './whisper-shape.ts';

async function opened(t: TestContext, bytes: Buffer) {
  const path = join(await temporaryFolder(t), 'model.bin');
  await writeFile(path, bytes);
  const file = openCt2File(path);
  t.after(() => file.close());
  return file;
}

const VALUES = [0, 1, -1, 0.5, -0.333251953125, 65504, 2 ** -14, 1.5];

test('variables are read with their shapes, whole or a few rows', async (t) => {
  const table = { name: 'a/weight', shape: [4, 2], values: VALUES };
  const heads = { name: 'heads', shape: [], values: [-8], type: 'int16' } as const;
  const file = await opened(t, writeCt2([table, heads], { aliases: [['b/weight', 'a/weight']] }));
  const { shape, bytes } = file.halves('a/weight');
  assert.deepEqual([shape, [...toFloats(bytes)]], [[4, 2], VALUES]);
  const rows = file.halves('b/weight', 1, 3);
  assert.deepEqual([rows.shape, [...toFloats(rows.bytes)]], [[2, 2], VALUES.slice(2, 6)]);
  assert.equal(file.whole('heads'), -8);
  assert.throws(() => file.halves('heads'), /no float16 named heads/);
  assert.throws(() => file.whole('c'), /no int16 named c/);
});

test('half floats are read exactly, also the smallest and what is no number', () => {
  const bits = [0x0001, 0x03ff, 0x8000, 0x7bff, 0x7c00, 0xfc00, 0x7e00];
  const bytes = Buffer.from(Uint16Array.from(bits).buffer);
  const wanted = [2 ** -24, 1023 * 2 ** -24, -0, 65504, Infinity, -Infinity, Number.NaN];
  assert.deepEqual([...toFloats(bytes)], wanted);
});

test('the sizes of a whisper are those of its variables', async (t) => {
  const file = await opened(t, writeCt2(tinyWhisper()));
  assert.deepEqual(whisperShapeOf(file), {
    encoderLayers: 1,
    decoderLayers: 1,
    heads: 2,
    width: 64,
    headWidth: 32,
    bands: 5,
    frames: 6,
    vocabulary: 7,
  });
});

const DAMAGED: readonly [what: string, bytes: Buffer, message: RegExp][] = [
  ['of another format', writeCt2([], { format: 5 }), /format 5; this reads 6/],
  ['that is empty', Buffer.alloc(0), /ends inside its header, at byte 0/],
  ['that is cut in a name', writeCt2(tinyWhisper()).subarray(0, 30), /ends inside its header/],
  ['that is cut in a variable', writeCt2(tinyWhisper()).subarray(0, -20_000), /ends inside \w+/],
  ['whose sizes do not fit', writeCt2([{ name: 'w', shape: [3], values: [1, 2] }]), /another size of w than its shape/],
  [
    'with a count that cannot be',
    Buffer.concat([writeCt2([]).subarray(0, -8), Buffer.alloc(8, 255)]),
    /says that it has 4294967295/,
  ],
];

for (const [what, bytes, message] of DAMAGED)
  test(`a model file ${what} is refused with its fault`, async (t) => {
    await assert.rejects(opened(t, bytes), { message });
  });
