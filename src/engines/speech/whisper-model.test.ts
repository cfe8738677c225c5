import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeFakeRuntime } from './__fixtures__/fake-runtime.ts';
import { createSequentialBatch } from './__fixtures__/sequential-batch.ts';
import { loadOnnxRuntime } from './onnx-runtime.ts';
import { openWhisperModel } from './whisper-model.ts';

test('a batch decodes each of its sequences as a session of its own does', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-speech-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const { runtimeFolder, weightsFolder } = writeFakeRuntime(folder);
  const { encode, tokens } = await openWhisperModel(loadOnnxRuntime(runtimeFolder), { weightsFolder, threads: 1 });
  const session = (await encode(new Float32Array(8_000))).createSession();
  await session.step([tokens.startOfTranscript, tokens.transcribe, tokens.noTimestamps]);
  const [batch, sequential] = [session.createBatch(), createSequentialBatch(session)];
  const [space = -1, I = -1, t = -1, x = -1] = tokens.encode(' Itx');
  for (const continuations of [
    [
      { parent: 0, token: x },
      { parent: 0, token: space },
    ],
    [
      { parent: 1, token: I },
      { parent: 0, token: x },
    ],
    [
      { parent: 1, token: x },
      { parent: 0, token: x },
      { parent: 0, token: t },
    ],
    [{ parent: 2, token: space }],
  ]) {
    const [steps, expected] = [await batch.step(continuations), await sequential.step(continuations)];
    assert.equal(steps.length, continuations.length);
    for (const [at, { scores, attention }] of steps.entries()) {
      assert.deepEqual(scores, expected[at]?.scores);
      assert.deepEqual(attention(), expected[at]?.attention());
    }
  }
});
