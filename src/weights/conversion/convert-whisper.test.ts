import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { temporaryFolder } from '../__fixtures__/temporary-folder.ts';
import { tinyWhisper, writeCt2 } from './__fixtures__/tiny-whisper.ts';
import type { WrittenVariable } from './__fixtures__/tiny-whisper.ts';
import { convertWhisper } from './convert-whisper.ts';
import { runConversion } from './run-conversion.ts';

const HEADS = { alignment_heads: [[0, 1]] };

async function order(t: TestContext, variables: readonly WrittenVariable[] = tinyWhisper(), config: unknown = HEADS) {
  const folder = await temporaryFolder(t);
  const [modelFile, configFile] = [join(folder, 'model.bin'), join(folder, 'config.json')];
  await writeFile(modelFile, writeCt2(variables));
  await writeFile(configFile, JSON.stringify(config));
  return { modelFile, configFile, folder: join(folder, 'out') };
}

const NAMES = ['encoder.onnx', 'encoder.onnx_data', 'decoder.onnx', 'decoder.onnx_data'];

/** Beginnings of the sums of what tinyWhisper becomes, in the order of NAMES. */
const GOLDEN = ['1ecadb7ab144', '538c1ab69172', 'b49a73796c9e', 'cbfbb09712bb'];

const sumsOf = async (folder: string): Promise<readonly string[]> =>
  await Promise.all(
    NAMES.map(async (name) =>
      createHash('sha256')
        .update(await readFile(join(folder, name)))
        .digest('hex')
        .slice(0, 12),
    ),
  );

test('the same weights give the same graphs, to the byte', async (t) => {
  const wish = await order(t);
  let bytes = 0;
  convertWhisper(wish, (more) => (bytes += more));
  // Those of the layout that the engine is tested with; whoever changes it converts the shipped weights anew.
  assert.deepEqual(await sumsOf(wish.folder), GOLDEN);
  const sizes = await Promise.all(NAMES.map(async (name) => (await readFile(join(wish.folder, name))).length));
  assert.equal(bytes, (sizes[1] ?? 0) + (sizes[3] ?? 0));
});

test('graphs say where their weights are, at places that can be mapped', async (t) => {
  const wish = await order(t);
  convertWhisper(wish, () => undefined);
  for (const half of ['encoder', 'decoder']) {
    const graph = (await readFile(join(wish.folder, `${half}.onnx`))).toString('latin1');
    const { length } = await readFile(join(wish.folder, `${half}.onnx_data`));
    const offsets = Array.from(graph.matchAll(/offset..(\d+)/gs), ([, digits]) => Number(digits));
    assert.ok(offsets.length > 10);
    assert.ok(offsets.every((offset) => offset % 64 === 0 && offset < length));
    assert.ok(graph.includes(`${half}.onnx_data`));
  }
});

test('what a file or its configuration lacks is named', async (t) => {
  const without = tinyWhisper().filter(({ name }) => name !== 'decoder/layer_0/attention/linear_2/bias');
  const convert = async (wish: ReturnType<typeof order>) => convertWhisper(await wish, () => undefined);
  await assert.rejects(convert(order(t, without)), /no float16 named decoder\/layer_0\/attention\/linear_2\/bias/);
  await assert.rejects(convert(order(t, [])), /no int16 named encoder\/num_heads/);
  for (const config of [{}, { alignment_heads: [] }, { alignment_heads: [['a', 1]] }, null])
    await assert.rejects(convert(order(t, tinyWhisper(), config)), /names no alignment_heads/);
});

test('a process of its own does the same, and its failure is told in its words', async (t) => {
  const wish = await order(t);
  const { signal } = new AbortController();
  await runConversion(wish, { signal, onBytes: () => undefined });
  assert.deepEqual(await sumsOf(wish.folder), GOLDEN);
  await assert.rejects(runConversion(await order(t, []), { signal, onBytes: () => undefined }), {
    kind: 'upstream-failed',
    message: 'The conversion failed: the model file has no int16 named encoder/num_heads',
  });
  const stopped = AbortSignal.abort(new Error('stopped'));
  await assert.rejects(runConversion(wish, { signal: stopped, onBytes: () => undefined }), { message: 'stopped' });
});
