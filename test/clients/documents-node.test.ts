import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import OpenAI, { BadRequestError, toFile } from 'openai';
import { until } from '../until.ts';
import { type Parley, startParley } from './harness.ts';

const PATIENCE_MS = 60_000;

describe('documents of the openai client for Node', () => {
  let parley: Parley;
  let client: OpenAI;
  before(async () => {
    parley = await startParley({ engine: 'scripted' });
    client = new OpenAI({ baseURL: parley.baseUrl, apiKey: parley.key, maxRetries: 0, timeout: 60_000 });
  });
  after(() => parley?.stop());

  /** As its own type has it; the purpose is one that it does not know. */
  const purpose = 'file-extract' as 'assistants';
  const settled = (id: string) =>
    until(`${id} is read`, { withinMs: PATIENCE_MS }, async () => {
      const file = await client.files.retrieve(id);
      return file.status === 'uploaded' ? undefined : file;
    });
  const fixture = (name: string) => readFile(new URL(`../../src/documents/__fixtures__/${name}`, import.meta.url));
  const ask = (id: string) =>
    client.chat.completions.create({
      model: 'svc-plus',
      messages: [
        { role: 'system', content: 'You are a helpful assistant.' },
        { role: 'system', content: `fileid://${id}` },
        { role: 'user', content: 'What is the answer?' },
      ],
    });

  test('sends a file, waits until it is read, and asks about it', async () => {
    const file = await toFile(await fixture('two-pages.pdf'), 'two pages.pdf');
    const made = await client.files.create({ file, purpose });
    assert.ok(made.id.startsWith('file-fe-') && ['uploaded', 'processed'].includes(made.status));
    assert.equal((await settled(made.id)).status, 'processed');
    const { choices, usage } = await ask(made.id);
    assert.ok(choices[0]?.message.content);
    const { usage: less } = await client.chat.completions.create({
      model: 'svc-plus',
      messages: [
        { role: 'system', content: 'You are a helpful assistant.' },
        { role: 'user', content: 'What is the answer?' },
      ],
    });
    assert.ok((usage?.prompt_tokens ?? 0) > (less?.prompt_tokens ?? 0) + 10, 'the text of the file counts');
  });

  test('hears why a file cannot be read, of the file and of the request that names it', async () => {
    const made = await client.files.create({ file: await toFile(await fixture('locked.pdf'), 'locked.pdf'), purpose });
    const file = await settled(made.id);
    assert.deepEqual([file.status, file.status_details], ['error', 'The file is protected by a password.']);
    await assert.rejects(
      ask(made.id),
      (error) => error instanceof BadRequestError && /protected by a password/.test(error.message),
    );
    await assert.rejects(
      ask('file-fe-0'),
      (error) => error instanceof BadRequestError && /Invalid file \[id:file-fe-0\]/.test(error.message),
    );
  });

  test('puts a file into a response by its id, and with all of its bytes', async () => {
    const text = 'The answer is 42.';
    const made = await client.files.create({ file: await toFile(Buffer.from(text), 'a.txt'), purpose });
    await settled(made.id);
    const data = `data:text/plain;base64,${Buffer.from(text).toString('base64')}`;
    for (const file of [{ file_id: made.id }, { filename: 'a.txt', file_data: data }]) {
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
