import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createTemporaryFolder } from '../__fixtures__/temporary-folder.ts';
import { createTinyWhisper, writeTestCt2 } from './__fixtures__/tiny-whisper.ts';
import { openCt2File } from './ct2-file.ts';
import { decodeHalfFloats } from './half-floats.ts';
import { readWhisperShape } from './whisper-shape.ts';

async function openTestFile(t: TestContext, bytes: Buffer) {
  const path = join(await createTemporaryFolder(t), 'model.bin');
  await writeFile(path, bytes);
  const file = openCt2File(path);
  t.after(() => file.close());
  return file;
}

const VALUES = [0, 1, -1, 0.5, -0.333251953125, 65504, 2 ** -14, 1.5];

test('reads variables with their shapes, all rows or some', async (t) => {
  const table = { name: 'a/weight', shape: [4, 2], values: VALUES };
  const heads = { name: 'heads', shape: [], values: [-8], type: 'int16' } as const;
  const file = await openTestFile(t, writeTestCt2([table, heads], { aliases: [['b/weight', 'a/weight']] }));
  const { shape, bytes } = file.readHalfFloats('a/weight');
  assert.deepEqual([shape, [...decodeHalfFloats(bytes)]], [[4, 2], VALUES]);
  const rows = file.readHalfFloats('b/weight', 1, 3);
  assert.deepEqual([rows.shape, [...decodeHalfFloats(rows.bytes)]], [[2, 2], VALUES.slice(2, 6)]);
  assert.equal(file.readInteger('heads'), -8);
  assert.throws(() => file.readHalfFloats('heads'), /no float16 variable named heads/);
  assert.throws(() => file.readInteger('c'), /no int16 variable named c/);
});

test('decodes 16-bit floats exactly, including subnormal numbers and NaN', () => {
  const bits = [0x0001, 0x03ff, 0x8000, 0x7bff, 0x7c00, 0xfc00, 0x7e00];
  const bytes = Buffer.from(Uint16Array.from(bits).buffer);
  const wanted = [2 ** -24, 1023 * 2 ** -24, -0, 65504, Infinity, -Infinity, Number.NaN];
  assert.deepEqual([...decodeHalfFloats(bytes)], wanted);
});

test('reads the dimensions of a Whisper model from its variables', async (t) => {
  const file = await openTestFile(t, writeTestCt2(createTinyWhisper()));
  assert.deepEqual(readWhisperShape(file), {
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

const DAMAGED_FILES: readonly [what: string, bytes: Buffer, message: RegExp][] = [
  ['of another format version', writeTestCt2([], { format: 5 }), /format version 5; only 6 is supported/],
  ['that is empty', Buffer.alloc(0), /ends inside its header, at byte 0/],
  ['that is truncated in a name', writeTestCt2(createTinyWhisper()).subarray(0, 30), /ends inside its header/],
  ['that is truncated in a variable', writeTestCt2(createTinyWhisper()).subarray(0, -20_000), /ends inside \w+/],
  [
    'whose size does not match its shape',
    writeTestCt2([{ name: 'w', shape: [3], values: [1, 2] }]),
    /size of w in the model file does not match its shape/,
  ],
  [
    'with an impossible count',
    Buffer.concat([writeTestCt2([]).subarray(0, -8), Buffer.alloc(8, 255)]),
    /states 4294967295 variables/,
  ],
];

for (const [what, bytes, message] of DAMAGED_FILES)
  test(`rejects a model file ${what}`, async (t) => {
    await assert.rejects(openTestFile(t, bytes), { message });
  });
