import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createMalformedFiles, mutateGguf } from './__fixtures__/malformed-gguf.ts';
import { createRankingModel } from './__fixtures__/ranking-model.ts';
import { scalePositions, scalePropertyRuns } from '../../test/property-runs.ts';
import { createSeededRandom } from '../lib/seeded-random.ts';
import { createGgufHead } from './__fixtures__/test-gguf-head.ts';
import { GgufError, readGgufHeader } from './gguf-header.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-gguf-'));
after(() => rmSync(folder, { recursive: true }));

const readHeader = async (bytes: Uint8Array) => {
  const path = join(folder, 'model.gguf');
  writeFileSync(path, bytes);
  return await readGgufHeader(path);
};

/** Reads the header. Returns undefined for a malformed file; any other error is thrown. */
const tryReadHeader = (bytes: Uint8Array) =>
  readHeader(bytes).catch((error: unknown) => {
    if (error instanceof GgufError) return undefined;
    throw error;
  });

describe('the header of a model file', () => {
  it('has metadata, with short texts and arrays of few numbers', async () => {
    const metadata = await readHeader(createRankingModel());
    assert.equal(metadata.get('general.architecture')?.value, 'bert');
    assert.equal(metadata.get('bert.embedding_length')?.value, 64);
    assert.equal(metadata.get('tokenizer.ggml.tokens')?.value, undefined);
    assert.ok((metadata.get('tokenizer.ggml.tokens')?.items?.length ?? 0) > 40);
  });

  it('is read in pieces when it is long', async () => {
    const words = Array.from({ length: 30_000 }, (_, index) => `word ${index}`.repeat(index % 20));
    const head = createGgufHead({ 'general.architecture': 'a', words, long: 'x'.repeat(3 * 2 ** 20), last: [1, 2] });
    const metadata = await readHeader(head);
    assert.deepEqual(metadata.get('words')?.items, { type: 8, length: 30_000 });
    assert.deepEqual(metadata.get('last')?.value, [1, 2]);
  });

  for (const { name, bytes, problem } of createMalformedFiles()) {
    if (problem)
      it(`is rejected: ${name}`, async () => {
        await assert.rejects(readHeader(bytes), (error) => {
          assert.ok(error instanceof GgufError, String(error));
          assert.match(error.message, problem);
          return true;
        });
      });
    else it(`is accepted, because only the engine knows: ${name}`, async () => void (await readHeader(bytes)));
  }

  it('is rejected wherever the file is cut', async () => {
    const whole = createRankingModel();
    const headerBytes = Buffer.from(whole).indexOf('cls.output.bias') + 50;
    const dataLengths = [headerBytes, headerBytes + 1000, whole.length / 2, whole.length - 33];
    for (const length of [...scalePositions(headerBytes), ...dataLengths])
      assert.equal(await tryReadHeader(whole.subarray(0, length)), undefined);
  });

  it('is read or rejected, whatever bytes are changed', async () => {
    const whole = createRankingModel();
    let accepted = 0;
    const runs = scalePropertyRuns(2000);
    for (let seed = 0; seed < runs; seed++) {
      if (await tryReadHeader(mutateGguf(createSeededRandom(seed), whole))) accepted++;
    }
    assert.ok(accepted > 0 && accepted < runs / 2, `${accepted} of ${runs}`);
  });
});
