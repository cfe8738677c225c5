import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { startParley } from '../clients/harness.ts';
import { LLAMA_SERVER_FOLDER, getLlamaServerSkipReason } from '../llama-server.ts';
import { createTestProjector, IMAGE_TOKENS } from './__fixtures__/test-projector.ts';
import { findWeightsFile, getWeightsFileSkipReason, TINY } from './weights.ts';

const skip = getWeightsFileSkipReason(TINY) || getLlamaServerSkipReason();

/** Width of the embeddings of the tiny weights. */
const EMBEDDING_WIDTH = 576;

/** A PNG of one red pixel. */
const IMAGE_URL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

test('llama-server with a projector reads images of chats', { skip }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-projector-'));
  const projector = join(folder, 'mmproj.gguf');
  writeFileSync(projector, createTestProjector(EMBEDDING_WIDTH));
  const parley = await startParley({
    config: [
      'models:',
      `  svc-plus: { weights: ${TINY} }`,
      `  seeing: { command: llama-server, path: '${findWeightsFile(TINY)}', mmproj: '${projector}' }`,
      `  blind: { command: llama-server, path: '${findWeightsFile(TINY)}' }`,
      '',
    ].join('\n'),
    env: { PATH: `${LLAMA_SERVER_FOLDER}${delimiter}${process.env.PATH}` },
  });
  const ask = async (model: string, hasImage: boolean) => {
    const image = hasImage ? [{ type: 'image_url', image_url: { url: IMAGE_URL } }] : [];
    const content = [{ type: 'text', text: 'What is it?' }, ...image];
    const response = await fetch(`${parley.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content }], max_tokens: 4 }),
    });
    const body = (await response.json()) as { usage?: { prompt_tokens: number }; error?: { message: string } };
    return { status: response.status, promptTokens: body.usage?.prompt_tokens ?? 0, message: body.error?.message };
  };
  try {
    const [plain, withImage] = [await ask('seeing', false), await ask('seeing', true)];
    assert.deepEqual([plain.status, withImage.status], [200, 200], withImage.message);
    assert.ok(withImage.promptTokens >= plain.promptTokens + IMAGE_TOKENS, 'the image has tokens');
    await ask('blind', false);
    assert.equal((await ask('blind', true)).status, 400);
  } finally {
    await parley.stop();
    rmSync(folder, { recursive: true });
  }
});
