import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Parley, startParley } from './harness.ts';
import { says } from './script.ts';

interface Chunk {
  readonly choices: readonly { readonly text: string; readonly finish_reason: string | null }[];
}

// Editors ask by themselves, without a client of ours: what stands here is what they send, and read.

describe('completion in an editor', () => {
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

  /** As such readers do it: each line of data by itself, until the mark. */
  const textOf = async (response: Response): Promise<string> => {
    assert.equal(response.status, 200, await response.clone().text());
    const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: '));
    assert.equal(lines.pop(), 'data: [DONE]');
    return lines.map((line) => (JSON.parse(line.slice('data: '.length)) as Chunk).choices[0]?.text ?? '').join('');
  };

  test("is asked for by Continue in the template of the model's family, with the stops that it always sends", async () => {
    const prefix = says('return a + b', '\n\nprint(add(1, 2))\n');
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
    assert.equal(await textOf(await post('/completions', body)), 'return a + b');
  });

  test('is asked for by Continue as of another model, where the name of this one says nothing to it', async () => {
    const suffix = '\n\nprint(add(1, 2))\n';
    const prompt = `<fim_prefix>${says('return a + b', suffix)}<fim_suffix>${suffix}<fim_middle>`;
    const body = {
      model: 'svc-coder-turbo',
      prompt,
      stream: true,
      stop: ['<fim_prefix>', '<|endoftext|>', '\r\n\r\n'],
    };
    assert.equal(await textOf(await post('/completions', body)), 'return a + b');
  });

  test('is asked for with prefix and suffix apart', async () => {
    const body = {
      model: 'svc-coder-turbo',
      prompt: says('x', '\n', 'y'),
      suffix: '\nz\n',
      max_tokens: 64,
      stop: ['\n'],
      stream: true,
    };
    assert.equal(await textOf(await post('/completions', body)), 'x');
  });

  test('at the end of a file is a continuation', async () => {
    const body = { model: 'svc-coder-turbo', prompt: says('x'), suffix: '', stream: true };
    assert.equal(await textOf(await post('/completions', body)), 'x');
  });

  test("is not there in llama-server's own words, which a client hears at once", async () => {
    const response = await post('/infill', { input_prefix: 'a\n', input_suffix: 'b\n', prompt: '', n_predict: 8 });
    assert.equal(response.status, 404);
  });
});
