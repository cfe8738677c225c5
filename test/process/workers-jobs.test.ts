import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { createSqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { replyWithStream, startFakeServer } from '../../src/engines/upstream/__fixtures__/fake-server.ts';
import type { FakeReply, FakeServer } from '../../src/engines/upstream/__fixtures__/fake-server.ts';
import { type ParleyProcess, startParley } from '../clients/harness.ts';
import { encodeScript } from '../clients/engine-script.ts';
import { until } from '../until.ts';

// Jobs that outlive their request, in a service with two worker processes.

/** Long enough for a busy machine. */
const TIMEOUT = { timeoutMs: 60_000 };

/** Number of connections. The chance that one of two workers gets none of them is 1 in 2^31. */
const CONNECTIONS = 32;

const LINES = 160;

/** Returns the expected answer to a line of the batch, which is also its prompt. */
const getAnswer = (line: number): string => `answer ${line}`;

const createEchoReply = (content: string): FakeReply =>
  replyWithStream(
    { choices: [{ index: 0, delta: { content } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } },
  );

describe('jobs of two workers', () => {
  let parley: ParleyProcess;
  let client: OpenAI;
  let store: Store;
  /**
   * Delays the answer to the last line until `allowLastAnswer`, so that the batch cannot end too early on a fast
   * machine.
   */
  let server: FakeServer;
  const { promise: lastAnswerAllowed, resolve: allowLastAnswer } = Promise.withResolvers<void>();
  before(async () => {
    const chat: FakeReply = async (body, ...exchange) => {
      const [content = ''] = /answer \d+/.exec(JSON.stringify(body)) ?? [];
      if (content === getAnswer(LINES - 1)) await lastAnswerAllowed;
      const reply = createEchoReply(content);
      if (typeof reply === 'function') reply(body, ...exchange);
    };
    server = await startFakeServer({
      '/v1/models': { object: 'list', data: [{ id: 'echo' }] },
      '/v1/chat/completions': chat,
    });
    parley = await startParley({
      engine: 'scripted',
      sequences: 64,
      config: `models: { echo: { url: '${server.baseUrl}/v1' } }\n`,
      env: { PARLEY_WORKERS: '2' },
    });
    // A new connection for each request, so that any worker may receive it.
    const defaultHeaders = { connection: 'close' };
    client = new OpenAI({
      baseURL: parley.baseUrl,
      apiKey: parley.key,
      defaultHeaders,
      maxRetries: 0,
      timeout: 60_000,
    });
    store = await openStore({ dialect: createSqliteDialect({ file: join(parley.data, 'parley.db') }) });
  });
  after(async () => {
    await store?.close();
    await parley?.stop();
    await server?.[Symbol.asyncDispose]();
  });

  const createBackgroundRequest = (input: string) => ({ model: 'svc-plus', background: true, input }) as const;
  test('resume a background response from any event in any worker', async () => {
    const stream = await client.responses.create({
      ...createBackgroundRequest(encodeScript('One ', { delayMs: 300 }, 'two ', { delayMs: 300 }, 'three.')),
      stream: true,
    });
    let id = '';
    let lastSequenceNumber = 0;
    for await (const event of stream) {
      if (event.type === 'response.created') id = event.response.id;
      lastSequenceNumber = event.sequence_number;
      if (event.type === 'response.output_text.delta') break;
    }
    const remainders = await Promise.all(
      Array.from({ length: CONNECTIONS }, async () =>
        Array.fromAsync(await client.responses.retrieve(id, { stream: true, starting_after: lastSequenceNumber })),
      ),
    );
    const [firstRemainder = []] = remainders;
    assert.deepEqual(
      firstRemainder.map(({ sequence_number: number }) => number),
      firstRemainder.map((_, at) => lastSequenceNumber + 1 + at),
    );
    assert.equal(firstRemainder.at(-1)?.type, 'response.completed');
    for (const other of remainders) assert.deepEqual(other, firstRemainder);
    assert.equal((await client.responses.retrieve(id)).output_text, 'One two three.');
    await until('both workers have answered', TIMEOUT, async () => {
      const logLines = parley.output().matchAll(/"worker":(\d),.*"operation":"responses.get"/g);
      return new Set(logLines.map(([, worker]) => worker)).size === 2 ? true : undefined;
    });
  });

  test('takes over the jobs of a killed worker, with one result for each batch line', async () => {
    const lines = Array.from({ length: LINES }, (_, at) => ({
      custom_id: `line-${at}`,
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model: 'echo', messages: [{ role: 'user', content: getAnswer(at) }] },
    }));
    const text = lines.map((line) => JSON.stringify(line)).join('\n');
    const input = await client.files.create({ file: await toFile(Buffer.from(text), 'in.jsonl'), purpose: 'batch' });
    const created = await client.batches.create({
      input_file_id: input.id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    });
    const response = await client.responses.create(
      createBackgroundRequest(encodeScript('An ', { delayMs: 2_000 }, 'answer.')),
    );
    // The type of the client lacks this purpose.
    const purpose = 'file-extract' as 'assistants';
    const document = await client.files.create({ file: await toFile(Buffer.from('A word.'), 'a.txt'), purpose });

    await until('some lines have results', TIMEOUT, async () =>
      (await client.batches.retrieve(created.id)).request_counts?.completed ? true : undefined,
    );
    const startedJob = await store.jobs.findBySubject('batch', created.id);
    const victim = Number(startedJob?.leaseOwner?.split(':')[1]);
    assert.ok(victim > 0 && victim !== parley.pid, startedJob?.leaseOwner);
    process.kill(victim, 'SIGKILL');
    allowLastAnswer();

    const batch = await until('the batch has ended', TIMEOUT, async () => {
      // Requests to the killed worker fail.
      const current = await client.batches.retrieve(created.id).catch(() => created);
      return current.status === 'completed' ? current : undefined;
    });
    assert.deepEqual(batch.request_counts, { total: LINES, completed: LINES, failed: 0 });
    const output = await (await client.files.content(batch.output_file_id ?? '')).text();
    const results = output.trimEnd().split('\n');
    assert.deepEqual(
      results.map((line) => (JSON.parse(line) as { custom_id: string }).custom_id),
      lines.map(({ custom_id }) => custom_id),
    );
    for (const [at, line] of results.entries()) assert.match(line, new RegExp(`"${getAnswer(at)}"`));
    const finishedJob = await store.jobs.findBySubject('batch', created.id);
    assert.ok(Number(finishedJob?.attempt) >= 2, 'another worker continued the job');

    await until('the response is complete', TIMEOUT, async () => {
      const { status, output_text } = await client.responses.retrieve(response.id);
      if (status !== 'completed') return undefined;
      assert.equal(output_text, 'An answer.');
      return true;
    });
    await until('the document is read', TIMEOUT, async () =>
      (await client.files.retrieve(document.id)).status === 'processed' ? true : undefined,
    );
  });
});
