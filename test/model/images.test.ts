import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Parley, startParley } from '../clients/harness.ts';
import { LLAMA_SERVER_FOLDER, getLlamaServerSkipReason } from '../llama-server.ts';
import { createTestProjector, IMAGE_TOKENS } from './__fixtures__/test-projector.ts';
import { findWeightsFile, getWeightsFileSkipReason, TINY } from './weights.ts';

const skip = getWeightsFileSkipReason(TINY) || getLlamaServerSkipReason();

/** Width of the embeddings of the tiny weights. */
const EMBEDDING_WIDTH = 576;

/** A PNG of one red pixel. */
const IMAGE_URL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

/** Tokens of the prompt of an answer, and how many of them stand for its images, if the interface reports this. */
interface Counts {
  readonly prompt: number;
  readonly image?: number | null | undefined;
}

interface Interface {
  readonly path: string;
  /** Encodes a request that asks a question about images. */
  encode(model: string, images: readonly string[]): object;
  readCounts(body: Answer): Counts;
}

/** Usage as the interfaces report it. */
interface Answer {
  readonly usage: {
    readonly prompt_tokens: number;
    readonly input_tokens: number;
    readonly image_tokens?: number;
    readonly prompt_tokens_details: { readonly image_tokens: number | null; readonly text_tokens: number };
    readonly input_tokens_details: { readonly image_tokens?: number; readonly text_tokens: number };
    readonly cache_read_input_tokens: number;
  };
}

const TEXT = 'What is it?';
const MESSAGES_HEADERS = { 'anthropic-version': '2023-06-01' };

const INTERFACES: Readonly<Record<string, Interface>> = {
  'chat completions': {
    path: '/compatible-mode/v1/chat/completions',
    encode: (model, images) => ({
      model,
      max_tokens: 4,
      messages: [
        {
          role: 'user',
          content: [{ type: 'text', text: TEXT }, ...images.map((url) => ({ type: 'image_url', image_url: { url } }))],
        },
      ],
    }),
    readCounts({ usage }) {
      const { text_tokens: text, image_tokens: image } = usage.prompt_tokens_details;
      assert.equal(text + (image ?? 0), usage.prompt_tokens);
      return { prompt: usage.prompt_tokens, image };
    },
  },
  messages: {
    path: '/apps/anthropic/v1/messages',
    encode: (model, images) => ({
      model,
      max_tokens: 4,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: TEXT },
            ...images.map((url) => ({
              type: 'image',
              source: { type: 'base64', media_type: 'image/png', data: url.replace(/^.*,/, '') },
            })),
          ],
        },
      ],
    }),
    readCounts: ({ usage }) => ({ prompt: usage.input_tokens + usage.cache_read_input_tokens }),
  },
  responses: {
    path: '/compatible-mode/v1/responses',
    encode: (model, images) => ({
      model,
      max_output_tokens: 16,
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: TEXT },
            ...images.map((url) => ({ type: 'input_image', image_url: url, detail: 'auto' })),
          ],
        },
      ],
    }),
    readCounts: ({ usage }) => ({ prompt: usage.input_tokens }),
  },
  'native generation': {
    path: '/api/v1/services/aigc/multimodal-generation/generation',
    encode: (model, images) => ({
      model,
      parameters: { max_tokens: 4 },
      input: { messages: [{ role: 'user', content: [{ text: TEXT }, ...images.map((image) => ({ image }))] }] },
    }),
    readCounts({ usage }) {
      const { text_tokens: text, image_tokens: image } = usage.input_tokens_details;
      assert.equal(text + (image ?? 0), usage.input_tokens);
      assert.equal(usage.image_tokens, image);
      return { prompt: usage.input_tokens, image };
    },
  },
};

/** Interfaces whose usage has a field for the tokens of images. */
const COUNTING = new Set(['chat completions', 'native generation']);

describe('llama-server with a projector', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-projector-'));
  let parley: Parley;
  before(async () => {
    const projector = join(folder, 'mmproj.gguf');
    writeFileSync(projector, createTestProjector(EMBEDDING_WIDTH));
    const path = findWeightsFile(TINY);
    parley = await startParley({
      config: [
        'models:',
        `  svc-plus: { weights: ${TINY} }`,
        `  seeing: { command: llama-server, path: '${path}', mmproj: '${projector}' }`,
        `  blind: { command: llama-server, path: '${path}' }`,
        '',
      ].join('\n'),
      env: { PATH: `${LLAMA_SERVER_FOLDER}${delimiter}${process.env.PATH}` },
    });
  });
  after(async () => {
    await parley?.stop();
    rmSync(folder, { recursive: true });
  });

  const ask = async ({ path, encode }: Interface, model: string, images: readonly string[]) => {
    const response = await fetch(`${parley.address}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json', ...MESSAGES_HEADERS },
      body: JSON.stringify(encode(model, images)),
    });
    return { status: response.status, body: await response.text() };
  };

  for (const [name, each] of Object.entries(INTERFACES)) {
    test(`reads images of ${name} and counts their tokens`, async () => {
      const readCounts = async (images: readonly string[]): Promise<Counts> => {
        const { status, body } = await ask(each, 'seeing', images);
        assert.equal(status, 200, body);
        return each.readCounts(JSON.parse(body) as Answer);
      };
      const plain = await readCounts([]);
      assert.ok(!plain.image, 'a prompt without images has no tokens of images');
      for (const images of [[IMAGE_URL], [IMAGE_URL, IMAGE_URL]]) {
        const { prompt, image } = await readCounts(images);
        assert.equal(prompt, plain.prompt + images.length * IMAGE_TOKENS);
        assert.equal(image, COUNTING.has(name) ? images.length * IMAGE_TOKENS : undefined);
      }
    });

    test(`refuses images of ${name} without a projector`, async () => {
      assert.equal((await ask(each, 'blind', [])).status, 200);
      const { status, body } = await ask(each, 'blind', [IMAGE_URL]);
      assert.equal(status, 400, body);
      assert.match(body, /content/);
    });
  }
});
