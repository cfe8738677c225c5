import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createLlamaProcess } from '../../src/engines/llama/llama-process.ts';
import { FAILED_STARTS_MAX } from '../../src/engines/restart-history.ts';
import {
  replyWithStream,
  startFakeServer,
  type FakeServer,
} from '../../src/engines/upstream/__fixtures__/fake-server.ts';
import { createSeededRandom } from '../../src/lib/seeded-random.ts';
import { createModelFileChecker } from '../../src/weights/model-file-checker.ts';
import { startParley, type ParleyProcess } from '../clients/harness.ts';
import { createMalformedFiles, mutateGguf, type MalformedFile } from '../../src/weights/__fixtures__/malformed-gguf.ts';
import { createRankingModel } from '../../src/weights/__fixtures__/ranking-model.ts';

/** Files that the check of the header accepts, and that the engine fails on or even loads. */
const RANDOM_FILES = process.env.PARLEY_TEST_FULL ? 12 : 1;

// The engine is not to start a debugger when it aborts.
process.env.GGML_NO_BACKTRACE = '1';

/** Opens the embedded engine on a model file. It is not started. `firstExit` resolves when its process first ends. */
const createTestProcess = async (folder: string, modelFile: string, { backoffMs }: { readonly backoffMs: number }) => {
  const exits: Readonly<Record<string, unknown>>[] = [];
  const { promise: firstExit, resolve: onExit } = Promise.withResolvers<void>();
  const engine = await createLlamaProcess(
    {
      name: 'malformed',
      modelFile,
      contextTokens: 256,
      sequences: 1,
      threads: 1,
      gpu: false,
      workspaceShare: 0.5,
      queueLengthMax: 1,
      queueWaitMsMax: 1000,
      runFolder: join(folder, 'run'),
      times: { backoffMsMin: backoffMs, backoffMsMax: backoffMs, waitMsMax: 120_000 },
    },
    {
      info: () => undefined,
      warn(message, fields) {
        exits.push({ message, ...fields });
        onExit();
      },
    },
  );
  return { engine, exits, firstExit };
};

describe('the embedded engine with a malformed model file', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-malformed-'));
  });
  after(() => rm(folder, { recursive: true }));

  /** Creates files by random changes until so many of them pass the check of their header. */
  async function createRandomFiles(count: number): Promise<readonly MalformedFile[]> {
    const path = join(folder, 'random.gguf');
    const whole = createRankingModel();
    const files: MalformedFile[] = [];
    for (let seed = 0; files.length < count; seed++) {
      const bytes = mutateGguf(createSeededRandom(seed), whole);
      await writeFile(path, bytes);
      if ((await createModelFileChecker()(path)) === undefined)
        files.push({ name: `random changes ${seed}`, bytes, problem: undefined });
    }
    return files;
  }

  it('is started a few times at most, and then reports the file, whatever is wrong', async (t) => {
    const unchecked = createMalformedFiles().filter(({ problem }) => problem === undefined);
    const files = [...unchecked, ...(await createRandomFiles(RANDOM_FILES))];
    let failures = 0;
    /** Kinds of ends after which the engine was started as often as it ever is: an exit code or a signal. */
    const repeatedEnds = new Set<string>();
    for (const { name, bytes } of files) {
      const modelFile = join(folder, 'model.gguf');
      await writeFile(modelFile, bytes);
      const once = await createTestProcess(folder, modelFile, { backoffMs: 600_000 });
      const ready = once.engine.waitUntilReady().then(
        () => true,
        () => false,
      );
      const isLoaded = await Promise.race([ready, once.firstExit.then(() => false)]);
      const { code, signal, stderr } = once.exits.at(-1) ?? {};
      t.diagnostic(
        `${name}: ${isLoaded ? 'loaded' : `code ${String(code)}, signal ${String(signal)}: ${String(stderr).split('\n').at(-1)}`}`,
      );
      await once.engine.stop();
      if (isLoaded) continue;
      failures++;
      assert.equal(once.exits.length, 1, name);
      const end = typeof signal === 'string' ? signal : 'code';
      if (repeatedEnds.has(end) && !process.env.PARLEY_TEST_FULL) continue;
      repeatedEnds.add(end);
      const { engine, exits } = await createTestProcess(folder, modelFile, { backoffMs: 1 });
      await assert.rejects(engine.waitUntilReady(), { message: /cannot load the model file model\.gguf/ }, name);
      assert.equal(exits.length, FAILED_STARTS_MAX, name);
      assert.equal(engine.state, 'failing', name);
      await engine.stop();
    }
    assert.ok(failures >= unchecked.length, `${failures} of ${files.length} files were rejected`);
  });
});

describe('a service with a malformed model file', () => {
  let server: FakeServer;
  let parley: ParleyProcess;
  let folder: string;
  let file: string;
  before(async () => {
    server = await startFakeServer({
      '/v1/models': { object: 'list', data: [{ id: 'svc-plus' }] },
      '/v1/chat/completions': replyWithStream(
        { choices: [{ index: 0, delta: { content: 'Hello.' } }] },
        { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
        { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } },
      ),
    });
    folder = await mkdtemp(join(tmpdir(), 'parley-malformed-'));
    file = join(folder, 'ranking.gguf');
    await writeFile(file, createRankingModel().subarray(0, 20_000));
    const models = [`svc-plus: { url: '${server.baseUrl}/v1' }`, `svc-rerank: { path: '${file}' }`];
    parley = await startParley({ config: `models:\n${models.map((line) => `  ${line}\n`).join('')}` });
  });
  after(async () => {
    await parley.stop();
    await server[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  const send = async (path: string, body: object) => {
    const answer = await fetch(`${parley.address}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const rank = () => send('/v1/reranks', { model: 'svc-rerank', query: 'blue', documents: ['blue', 'bread'] });

  it('refuses its requests with 503, the file and the problem; others are served', async () => {
    for (let request = 0; request < 20; request++) {
      const { status, text } = await rank();
      assert.equal(status, 503, text);
      assert.match(
        text,
        /The model file ranking\.gguf is malformed: .* truncated or damaged\. The operator must replace it\./,
      );
    }
    assert.doesNotMatch(parley.output(), /engine process ended/);
    const chat = await send('/v1/chat/completions', {
      model: 'svc-plus',
      messages: [{ role: 'user', content: 'Hello' }],
    });
    assert.equal(chat.status, 200, chat.text);
  });

  it('serves the model as soon as the file is replaced', async () => {
    await writeFile(file, createRankingModel());
    const { status, text } = await rank();
    assert.equal(status, 200, text);
  });
});
