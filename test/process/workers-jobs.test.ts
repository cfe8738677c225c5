import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { sqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { streamed, testServer } from '../../src/engines/upstream/__fixtures__/server.ts';
import type { Reply, TestServer } from '../../src/engines/upstream/__fixtures__/server.ts';
import { type ParleyProcess, startParley } from '../clients/harness.ts';
import { says } from '../clients/script.ts';
import { until } from '../until.ts';

// Work that outlives its request, in a service of two processes.

/** The machine may be busy. */
const WITHIN = { withinMs: 60_000 };

/** So many connections meet every one of two workers, but for one time in 2^31. */
const MANY = 32;

const LINES = 160;

/** What a line of the batch is to be answered, which is what it asks. */
const answerOf = (line: number): string => `answer ${line}`;

const echo = (content: string): Reply =>
  streamed(
    { choices: [{ index: 0, delta: { content } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } },
  );

describe('jobs of two workers', () => {
  let parley: ParleyProcess;
  let client: OpenAI;
  let store: Store;
  /** Answers the last line when it may: until then the batch is not over, however fast the machine is. */
  let server: TestServer;
  const { promise: mayAnswer, resolve: letAnswer } = Promise.withResolvers<void>();
  before(async () => {
    const chat: Reply = async (body, ...exchange) => {
      const [content = ''] = /answer \d+/.exec(JSON.stringify(body)) ?? [];
      if (content === answerOf(LINES - 1)) await mayAnswer;
      const reply = echo(content);
      if (typeof reply === 'function') reply(body, ...exchange);
    };
    server = await testServer({
      '/v1/models': { object: 'list', data: [{ id: 'echo' }] },
      '/v1/chat/completions': chat,
    });
    parley = await startParley({
      engine: 'scripted',
      sequences: 64,
      config: `models: { echo: { url: '${server.base}/v1' } }\n`,
      env: { PARLEY_WORKERS: '2' },
    });
    // On a connection of its own each time, so that any worker may get it.
    const defaultHeaders = { connection: 'close' };
    client = new OpenAI({
      baseURL: parley.baseUrl,
      apiKey: parley.key,
      defaultHeaders,
      maxRetries: 0,
      timeout: 60_000,
    });
    store = await openStore({ dialect: sqliteDialect({ file: join(parley.data, 'parley.db') }) });
  });
  after(async () => {
    await store?.close();
    await parley?.stop();
    await server?.[Symbol.asyncDispose]();
  });

  const ask = (input: string) => ({ model: 'svc-plus', background: true, input }) as const;
  test('an answer in the background goes on from an event at any of them', async () => {
    const first = await client.responses.create({
      ...ask(says('One ', { delayMs: 300 }, 'two ', { delayMs: 300 }, 'three.')),
      stream: true,
    });
    let id = '';
    let last = 0;
    for await (const event of first) {
      if (event.type === 'response.created') id = event.response.id;
      last = event.sequence_number;
      if (event.type === 'response.output_text.delta') break;
    }
    const rests = await Promise.all(
      Array.from({ length: MANY }, async () =>
        Array.fromAsync(await client.responses.retrieve(id, { stream: true, starting_after: last })),
      ),
    );
    const [rest = []] = rests;
    assert.deepEqual(
      rest.map(({ sequence_number: number }) => number),
      rest.map((_, at) => last + 1 + at),
    );
    assert.equal(rest.at(-1)?.type, 'response.completed');
    for (const other of rests) assert.deepEqual(other, rest);
    assert.equal((await client.responses.retrieve(id)).output_text, 'One two three.');
    await until('the log says that both told it', WITHIN, async () => {
      const told = parley.output().matchAll(/"worker":(\d),.*"operation":"responses.get"/g);
      return new Set(told.map(([, worker]) => worker)).size === 2 ? true : undefined;
    });
  });

  test('what a killed one was at is taken over: each line has one result', async () => {
    const lines = Array.from({ length: LINES }, (_, at) => ({
      custom_id: `line-${at}`,
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model: 'echo', messages: [{ role: 'user', content: answerOf(at) }] },
    }));
    const text = lines.map((line) => JSON.stringify(line)).join('\n');
    const input = await client.files.create({ file: await toFile(Buffer.from(text), 'in.jsonl'), purpose: 'batch' });
    const made = await client.batches.create({
      input_file_id: input.id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    });
    const answer = await client.responses.create(ask(says('An ', { delayMs: 2_000 }, 'answer.')));
    // Its own type does not know the purpose.
    const purpose = 'file-extract' as 'assistants';
    const document = await client.files.create({ file: await toFile(Buffer.from('A word.'), 'a.txt'), purpose });

    await until('some lines have their results', WITHIN, async () =>
      (await client.batches.retrieve(made.id)).request_counts?.completed ? true : undefined,
    );
    const begun = await store.jobs.findBySubject('batch', made.id);
    const victim = Number(begun?.leaseOwner?.split(':')[1]);
    assert.ok(victim > 0 && victim !== parley.pid, begun?.leaseOwner);
    process.kill(victim, 'SIGKILL');
    letAnswer();

    const batch = await until('the batch has ended', WITHIN, async () => {
      // Whoever asks the dying one is told nothing.
      const now = await client.batches.retrieve(made.id).catch(() => made);
      return now.status === 'completed' ? now : undefined;
    });
    assert.deepEqual(batch.request_counts, { total: LINES, completed: LINES, failed: 0 });
    const output = await (await client.files.content(batch.output_file_id ?? '')).text();
    const results = output.trimEnd().split('\n');
    assert.deepEqual(
      results.map((line) => (JSON.parse(line) as { custom_id: string }).custom_id),
      lines.map(({ custom_id }) => custom_id),
    );
    for (const [at, line] of results.entries()) assert.match(line, new RegExp(`"${answerOf(at)}"`));
    const ended = await store.jobs.findBySubject('batch', made.id);
    assert.ok(Number(ended?.attempt) >= 2, 'another one went on with it');

    await until('the answer is made', WITHIN, async () => {
      const { status, output_text } = await client.responses.retrieve(answer.id);
      if (status !== 'completed') return undefined;
      assert.equal(output_text, 'An answer.');
      return true;
    });
    await until('the document is read', WITHIN, async () =>
      (await client.files.retrieve(document.id)).status === 'processed' ? true : undefined,
    );
  });
});
