import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI, { ConflictError, NotFoundError, toFile } from 'openai';
import type { Batch } from 'openai/resources/batches';
import { until } from '../until.ts';
import { type Parley, startParley } from './harness.ts';

/** Longest wait for a batch on a busy machine, in ms. */
const WAIT_MS_MAX = 60_000;

const FINAL_STATUSES: readonly string[] = ['completed', 'failed', 'expired', 'cancelled'];

interface Result {
  readonly custom_id: string | null;
  readonly response: { readonly status_code: number; readonly body: Readonly<Record<string, unknown>> } | null;
  readonly error: { readonly code: string; readonly line?: number } | null;
}

describe('batches with the openai client for Node', () => {
  let parley: Parley;
  let client: OpenAI;
  before(async () => {
    parley = await startParley({ engine: 'scripted', sequences: 64 });
    client = new OpenAI({ baseURL: parley.baseUrl, apiKey: parley.key, maxRetries: 0, timeout: 60_000 });
  });
  after(() => parley?.stop());

  const createLine = (custom_id: string, body: object, url = '/v1/chat/completions') => ({
    custom_id,
    method: 'POST',
    url,
    body,
  });
  const createChatLine = (custom_id: string, content: string) =>
    createLine(custom_id, { model: 'svc-plus', messages: [{ role: 'user', content }] });

  async function createBatch(
    lines: readonly (object | string)[],
    endpoint: OpenAI.BatchCreateParams['endpoint'] = '/v1/chat/completions',
    metadata: Record<string, string> = {},
  ): Promise<Batch> {
    const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
    const file = await client.files.create({ file: await toFile(Buffer.from(text), 'in.jsonl'), purpose: 'batch' });
    return await client.batches.create({ input_file_id: file.id, endpoint, completion_window: '24h', metadata });
  }
  const waitForEnd = ({ id }: Batch): Promise<Batch> =>
    until('the batch is finished', { timeoutMs: WAIT_MS_MAX }, async () => {
      const batch = await client.batches.retrieve(id);
      return FINAL_STATUSES.includes(batch.status) ? batch : undefined;
    });
  async function readResults(file: string | null | undefined): Promise<readonly Result[]> {
    assert.ok(file);
    const text = await (await client.files.content(file)).text();
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Result);
  }

  test('uploads lines, creates, polls, and reads output and errors', async () => {
    const created = await createBatch([
      createChatLine('one', 'Hello'),
      '{"no":',
      createChatLine('two', 'script:[{"fail":"engine-failed"}]'),
    ]);
    assert.deepEqual([created.object, created.status, created.completion_window], ['batch', 'validating', '24h']);
    const batch = await waitForEnd(created);
    assert.deepEqual([batch.status, batch.request_counts], ['completed', { total: 3, completed: 1, failed: 2 }]);
    const [output] = await readResults(batch.output_file_id);
    assert.deepEqual([output?.custom_id, output?.error, output?.response?.status_code], ['one', null, 200]);
    const completion = output?.response?.body as unknown as OpenAI.ChatCompletion;
    assert.equal(completion.choices[0]?.message.content, 'You said: Hello');
    const errors = await readResults(batch.error_file_id);
    assert.deepEqual(
      errors.map(({ custom_id, error, response }) => [custom_id, error?.code, error?.line, response?.status_code]),
      [
        [null, 'invalid_json_line', 2, undefined],
        ['two', 'internal_error', undefined, 500],
      ],
    );
    const file = await client.files.retrieve(batch.output_file_id ?? '');
    assert.equal(file.purpose, 'batch_output');
  });

  test('gets the reason why a batch without a valid line failed', async () => {
    const batch = await waitForEnd(await createBatch([createLine('a', {}, '/v1/chat/completion')]));
    assert.equal(batch.status, 'failed');
    const [problem] = batch.errors?.data ?? [];
    assert.deepEqual([problem?.code, problem?.param, problem?.line], ['url_not_found', 'url', 1]);
    assert.equal(batch.output_file_id ?? undefined, undefined);
  });

  test('runs batches of responses and of embeddings', async () => {
    const [responses, embeddings] = await Promise.all([
      createBatch([createLine('r', { model: 'svc-plus', input: 'Hello' }, '/v1/responses')], '/v1/responses'),
      createBatch(
        [createLine('e', { model: 'svc-embed', input: ['Hello', 'you'] }, '/v1/embeddings')],
        '/v1/embeddings',
      ),
    ]);
    const [response] = await readResults((await waitForEnd(responses)).output_file_id);
    const body = response?.response?.body as unknown as OpenAI.Responses.Response;
    assert.deepEqual([body.object, body.status], ['response', 'completed']);
    assert.equal((await client.responses.retrieve(body.id)).output_text, 'You said: Hello');
    const [embedding] = await readResults((await waitForEnd(embeddings)).output_file_id);
    const vectors = embedding?.response?.body as unknown as OpenAI.CreateEmbeddingResponse;
    assert.deepEqual(
      vectors.data.map(({ index }) => index),
      [0, 1],
    );
  });

  test('cancels a running batch, and gets an error for a finished one', async () => {
    const created = await createBatch([
      createChatLine('quick', 'Hello'),
      createChatLine('never', 'script:["x",{"hang":true}]'),
    ]);
    await until('the quick request has its result', { timeoutMs: WAIT_MS_MAX }, async () => {
      const { request_counts } = await client.batches.retrieve(created.id);
      return request_counts?.completed === 1 || undefined;
    });
    assert.equal((await client.batches.cancel(created.id)).status, 'cancelling');
    const batch = await waitForEnd(created);
    assert.deepEqual([batch.status, batch.request_counts?.completed], ['cancelled', 1]);
    assert.equal((await readResults(batch.output_file_id))[0]?.custom_id, 'quick');
    await assert.rejects(client.batches.cancel(created.id), ConflictError);
    await assert.rejects(client.batches.retrieve('batch_none'), NotFoundError);
  });

  test('goes through all pages of a list', async () => {
    const createdIds: string[] = [];
    for (let count = 0; count < 5; count += 1)
      createdIds.unshift((await createBatch([createChatLine('a', 'Hello')])).id);
    const listedIds: string[] = [];
    for await (const { id } of client.batches.list({ limit: 2 })) listedIds.push(id);
    assert.deepEqual(listedIds.slice(0, 5), createdIds);
    assert.equal(new Set(listedIds).size, listedIds.length);
  });
});
