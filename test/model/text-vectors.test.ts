import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createEmbeddingProcess } from '../../src/engines/speech/speech-process.ts';
import { createStandaloneEmbeddingEngine } from '../../src/engines/speech/standalone-embedding-engine.ts';
import type { StandaloneEmbeddingEngine } from '../../src/engines/speech/standalone-embedding-engine.ts';
import { createWordPieceTokenizer } from '../../src/engines/speech/word-piece-tokenizer.ts';
import { getSpeechSkipReason, getRuntimeFolder, getSpeechWeightsFolder } from '../models-folder.ts';

const MINILM = 'all-minilm-l6-v2';
const never = new AbortController().signal;

describe('vectors of a small model', { skip: getSpeechSkipReason('svc-embed') }, () => {
  let runFolder: string;
  let engine: StandaloneEmbeddingEngine;
  before(async () => {
    runFolder = await mkdtemp(join(tmpdir(), 'parley-model-'));
    const options = {
      name: MINILM,
      runtimeFolder: getRuntimeFolder(),
      weightsFolder: getSpeechWeightsFolder('svc-embed'),
      runFolder,
    };
    const process = await createEmbeddingProcess(
      { ...options, threads: 1, queueLengthMax: 8, queueWaitMsMax: 60_000 },
      { info: () => undefined, warn: () => undefined },
    );
    engine = createStandaloneEmbeddingEngine({ process });
  });
  after(async () => {
    await engine.close();
    await rm(runFolder, { recursive: true });
  });

  const embed = async (...texts: readonly string[]) =>
    await engine.embed(
      {
        id: 'r',
        owner: { workspace: 'w', key: 'k' },
        inputs: texts.map((text, at) => ({ text, field: `input[${at}]` })),
      },
      never,
    );
  const cosine = (a: readonly number[] = [], b: readonly number[] = []): number =>
    a.reduce((sum, each, at) => sum + each * (b[at] ?? 0), 0);

  it('are close for texts of similar meaning, and far for others', async () => {
    assert.equal(await engine.getDimensions(), 384);
    const { vectors, tokens } = await embed(
      'A man is playing a guitar.',
      'Someone plays an instrument.',
      'The stock market fell sharply today.',
    );
    const [guitar, instrument, market] = vectors;
    // Computed with the model's reference library.
    assert.ok(Math.abs(cosine(guitar, instrument) - 0.6658) < 0.001);
    assert.ok(Math.abs(cosine(guitar, market) + 0.0497) < 0.001);
    assert.ok(Math.abs(cosine(market, market) - 1) < 1e-6);
    assert.equal(tokens, 19);
  });

  it('are the same for the same text, whatever else the request contains', async () => {
    const long = 'The quick brown fox jumps over the lazy dog. '.repeat(30);
    const alone = await embed('Short.');
    const beside = await embed(long, 'Short.', long);
    assert.deepEqual(beside.vectors[1], alone.vectors[0]);
  });

  it('are refused for a text that is too long or empty, naming the field', async () => {
    await assert.rejects(embed('ok', 'x '.repeat(511)), {
      kind: 'invalid-request',
      param: 'input[1]',
      message: /\[1, 510\]/,
    });
    await assert.rejects(embed(' '), { kind: 'invalid-request', param: 'input[0]' });
  });

  it('use the same tokens as the tokenizers library', async () => {
    const tokenize = createWordPieceTokenizer(
      JSON.parse(await readFile(join(getSpeechWeightsFolder('svc-embed'), 'tokenizer.json'), 'utf8')),
    );
    // Computed with the tokenizers library.
    assert.deepEqual(
      tokenize("unaffable $5^2 <b>x</b> don't"),
      [14477, 20961, 3468, 1002, 1019, 1034, 1016, 1026, 1038, 1028, 1060, 1026, 1013, 1038, 1028, 2123, 1005, 1056],
    );
    assert.deepEqual(
      tokenize('ÅNGSTRÖM İstanbul ß ﬁ 한국어 テスト'),
      [17076, 15687, 9960, 1096, 1984, 1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008, 1713, 30233, 30240],
    );
  });
});
