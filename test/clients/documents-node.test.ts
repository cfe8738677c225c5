import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import OpenAI, { BadRequestError, toFile } from 'openai';
import { until } from '../until.ts';
import { type Parley, startParley } from './harness.ts';

const WAIT_MS_MAX = 60_000;

describe('documents with the openai client for Node', () => {
  let parley: Parley;
  let client: OpenAI;
  before(async () => {
    parley = await startParley({ engine: 'scripted' });
    client = new OpenAI({ baseURL: parley.baseUrl, apiKey: parley.key, maxRetries: 0, timeout: 60_000 });
  });
  after(() => parley?.stop());

  /** A purpose that the types of the client do not know. */
  const purpose = 'file-extract' as 'assistants';
  const waitUntilProcessed = (id: string) =>
    until(`${id} is processed`, { timeoutMs: WAIT_MS_MAX }, async () => {
      const file = await client.files.retrieve(id);
      return file.status === 'uploaded' ? undefined : file;
    });
  const readFixture = (name: string) => readFile(new URL(`../../src/documents/__fixtures__/${name}`, import.meta.url));
  const askAbout = (id: string) =>
    client.chat.completions.create({
      model: 'svc-plus',
      messages: [
        { role: 'system', content: 'You are a helpful assistant.' },
        { role: 'system', content: `fileid://${id}` },
        { role: 'user', content: 'What is the answer?' },
      ],
    });

  test('are uploaded, processed, and used in an answer', async () => {
    const file = await toFile(await readFixture('two-pages.pdf'), 'two pages.pdf');
    const created = await client.files.create({ file, purpose });
    assert.ok(created.id.startsWith('file-fe-') && ['uploaded', 'processed'].includes(created.status));
    assert.equal((await waitUntilProcessed(created.id)).status, 'processed');
    const { choices, usage } = await askAbout(created.id);
    assert.ok(choices[0]?.message.content);
    const { usage: usageWithoutFile } = await client.chat.completions.create({
      model: 'svc-plus',
      messages: [
        { role: 'system', content: 'You are a helpful assistant.' },
        { role: 'user', content: 'What is the answer?' },
      ],
    });
    assert.ok(
      (usage?.prompt_tokens ?? 0) > (usageWithoutFile?.prompt_tokens ?? 0) + 10,
      'the prompt contains the text of the file',
    );
  });

  test('report why they cannot be read, in the file and in a request that names it', async () => {
    const created = await client.files.create({
      file: await toFile(await readFixture('locked.pdf'), 'locked.pdf'),
      purpose,
    });
    const file = await waitUntilProcessed(created.id);
    assert.deepEqual([file.status, file.status_details], ['error', 'The file is protected by a password.']);
    await assert.rejects(
      askAbout(created.id),
      (error) => error instanceof BadRequestError && /protected by a password/.test(error.message),
    );
    await assert.rejects(
      askAbout('file-fe-0'),
      (error) => error instanceof BadRequestError && /Invalid file \[id:file-fe-0\]/.test(error.message),
    );
  });

  test('are sent in a response request by their id or as bytes', async () => {
    const text = 'The answer is 42.';
    const created = await client.files.create({ file: await toFile(Buffer.from(text), 'a.txt'), purpose });
    await waitUntilProcessed(created.id);
    const data = `data:text/plain;base64,${Buffer.from(text).toString('base64')}`;
    for (const file of [{ file_id: created.id }, { filename: 'a.txt', file_data: data }]) {
      const content = [
        { type: 'input_file', ...file },
        { type: 'input_text', text: 'What is it?' },
      ] as const;
      const response = await client.responses.create({
        model: 'svc-plus',
        input: [{ role: 'user', content: [...content] }],
      });
      assert.equal(response.status, 'completed');
      assert.ok((response.usage?.input_tokens ?? 0) > 10);
    }
  });
});
