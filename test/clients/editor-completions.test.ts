import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Parley, startParley } from './harness.ts';
import { encodeScript } from './engine-script.ts';

interface Chunk {
  readonly choices: readonly { readonly text: string; readonly finish_reason: string | null }[];
}

// Editors send HTTP requests without a client library. These are the requests of Continue and similar extensions.

describe('text completion for editors', () => {
  let parley: Parley;
  before(async () => {
    parley = await startParley({ engine: 'scripted' });
  });
  after(() => parley?.stop());

  const post = (path: string, body: object) =>
    fetch(parley.baseUrl + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${parley.key}`, 'api-key': parley.key },
      body: JSON.stringify(body),
    });

  /** Joins the texts of all `data:` lines up to `[DONE]`, as editors do. */
  const readText = async (response: Response): Promise<string> => {
    assert.equal(response.status, 200, await response.clone().text());
    const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: '));
    assert.equal(lines.pop(), 'data: [DONE]');
    return lines.map((line) => (JSON.parse(line.slice('data: '.length)) as Chunk).choices[0]?.text ?? '').join('');
  };

  test('accepts the prompt of Continue in the template of the model family, with its stop strings', async () => {
    const prefix = encodeScript('return a + b', '\n\nprint(add(1, 2))\n');
    const suffix = '\n\nprint(add(1, 2))\n';
    const body = {
      model: 'qwen2.5-coder-0.5b',
      prompt: `<|fim_prefix|>${prefix}<|fim_suffix|>${suffix}<|fim_middle|>`,
      max_tokens: 4096,
      temperature: 0.01,
      stream: true,
      stop: [
        '<|endoftext|>',
        '<|fim_prefix|>',
        '<|fim_middle|>',
        '<|fim_suffix|>',
        '<|fim_pad|>',
        '<|repo_name|>',
        '<|file_sep|>',
        '<|im_start|>',
        '<|im_end|>',
        '/src/',
        '#- coding: utf-8',
        '```',
      ],
    };
    assert.equal(await readText(await post('/completions', body)), 'return a + b');
  });

  test('accepts the prompt of Continue in the template of another model', async () => {
    const suffix = '\n\nprint(add(1, 2))\n';
    const prompt = `<fim_prefix>${encodeScript('return a + b', suffix)}<fim_suffix>${suffix}<fim_middle>`;
    const body = {
      model: 'svc-coder-turbo',
      prompt,
      stream: true,
      stop: ['<fim_prefix>', '<|endoftext|>', '\r\n\r\n'],
    };
    assert.equal(await readText(await post('/completions', body)), 'return a + b');
  });

  test('accepts prefix and suffix as separate fields', async () => {
    const body = {
      model: 'svc-coder-turbo',
      prompt: encodeScript('x', '\n', 'y'),
      suffix: '\nz\n',
      max_tokens: 64,
      stop: ['\n'],
      stream: true,
    };
    assert.equal(await readText(await post('/completions', body)), 'x');
  });

  test('continues the prompt when the suffix is empty', async () => {
    const body = { model: 'svc-coder-turbo', prompt: encodeScript('x'), suffix: '', stream: true };
    assert.equal(await readText(await post('/completions', body)), 'x');
  });

  test('refuses the infill path of llama-server with 404', async () => {
    const response = await post('/infill', { input_prefix: 'a\n', input_suffix: 'b\n', prompt: '', n_predict: 8 });
    assert.equal(response.status, 404);
  });
});
