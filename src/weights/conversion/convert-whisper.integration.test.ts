import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createTemporaryFolder } from '../__fixtures__/temporary-folder.ts';
import { createTinyWhisper, writeTestCt2, type TestVariable } from './__fixtures__/tiny-whisper.ts';
import { convertWhisper } from './convert-whisper.ts';
import { runConversion } from './run-conversion.ts';

const HEADS = { alignment_heads: [[0, 1]] };

async function createConversion(
  t: TestContext,
  variables: readonly TestVariable[] = createTinyWhisper(),
  config: unknown = HEADS,
) {
  const folder = await createTemporaryFolder(t);
  const [modelFile, configFile] = [join(folder, 'model.bin'), join(folder, 'config.json')];
  await writeFile(modelFile, writeTestCt2(variables));
  await writeFile(configFile, JSON.stringify(config));
  return { modelFile, configFile, folder: join(folder, 'out') };
}

const NAMES = ['encoder.onnx', 'encoder.onnx_data', 'decoder.onnx', 'decoder.onnx_data'];

/** First 12 digits of the SHA-256 of each converted file, in the order of NAMES. */
const GOLDEN = ['1ecadb7ab144', '538c1ab69172', 'b49a73796c9e', 'cbfbb09712bb'];

const hashFiles = async (folder: string): Promise<readonly string[]> =>
  await Promise.all(
    NAMES.map(async (name) =>
      createHash('sha256')
        .update(await readFile(join(folder, name)))
        .digest('hex')
        .slice(0, 12),
    ),
  );

test('converts the same weights to the same bytes', async (t) => {
  const conversion = await createConversion(t);
  let bytes = 0;
  convertWhisper(conversion, (more) => (bytes += more));
  // Hashes of the layout that the engine is tested with. A change of the layout requires new hashes in the catalogue.
  assert.deepEqual(await hashFiles(conversion.folder), GOLDEN);
  const sizes = await Promise.all(NAMES.map(async (name) => (await readFile(join(conversion.folder, name))).length));
  assert.equal(bytes, (sizes[1] ?? 0) + (sizes[3] ?? 0));
});

test('stores each block of weights at an offset that can be memory-mapped', async (t) => {
  const conversion = await createConversion(t);
  convertWhisper(conversion, () => undefined);
  for (const half of ['encoder', 'decoder']) {
    const graph = (await readFile(join(conversion.folder, `${half}.onnx`))).toString('latin1');
    const { length } = await readFile(join(conversion.folder, `${half}.onnx_data`));
    const offsets = Array.from(graph.matchAll(/offset..(\d+)/gs), ([, digits]) => Number(digits));
    assert.ok(offsets.length > 10);
    assert.ok(offsets.every((offset) => offset % 64 === 0 && offset < length));
    assert.ok(graph.includes(`${half}.onnx_data`));
  }
});

test('names what the model file or its configuration lacks', async (t) => {
  const without = createTinyWhisper().filter(({ name }) => name !== 'decoder/layer_0/attention/linear_2/bias');
  const convert = async (conversion: ReturnType<typeof createConversion>) =>
    convertWhisper(await conversion, () => undefined);
  await assert.rejects(
    convert(createConversion(t, without)),
    /no float16 variable named decoder\/layer_0\/attention\/linear_2\/bias/,
  );
  await assert.rejects(convert(createConversion(t, [])), /no int16 variable named encoder\/num_heads/);
  for (const config of [{}, { alignment_heads: [] }, { alignment_heads: [['a', 1]] }, null])
    await assert.rejects(convert(createConversion(t, createTinyWhisper(), config)), /names no alignment_heads/);
});

test('produces the same files in a child process and reports its error message', async (t) => {
  const conversion = await createConversion(t);
  const { signal } = new AbortController();
  await runConversion(conversion, { signal, onBytes: () => undefined });
  assert.deepEqual(await hashFiles(conversion.folder), GOLDEN);
  await assert.rejects(runConversion(await createConversion(t, []), { signal, onBytes: () => undefined }), {
    kind: 'upstream-failed',
    message: 'The conversion failed: the model file has no int16 variable named encoder/num_heads',
  });
  const stopped = AbortSignal.abort(new Error('stopped'));
  await assert.rejects(runConversion(conversion, { signal: stopped, onBytes: () => undefined }), {
    message: 'stopped',
  });
});
