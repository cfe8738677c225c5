import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { startParley } from '../clients/harness.ts';
import type { Parley, ParleyProcess } from '../clients/harness.ts';
import { getWeightsSkipReason } from '../models-folder.ts';
import { findLogLines } from '../log-lines.ts';
import { until } from '../until.ts';
import { TINY, findWeightsFile } from './weights.ts';

const WAIT = { timeoutMs: 60_000 };

/** Number of connections that reach both of two workers, except with a probability of 2^-15. */
const CONNECTIONS = 16;

/** Sends a request on a new connection, so that any worker may accept it. */
const sendChat = ({ address, key }: Parley, model = 'svc-tiny') =>
  new Promise<{ status: number; text: string }>((resolve, reject) => {
    const sent = request(`${address}/v1/chat/completions`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      readText(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), reject);
    });
    sent.end(JSON.stringify({ model, max_tokens: 2, messages: [{ role: 'user', content: 'Hi' }] }));
  });

async function sendMany(parley: Parley, model?: string): Promise<void> {
  for (const { status, text } of await Promise.all(Array.from({ length: CONNECTIONS }, () => sendChat(parley, model))))
    assert.equal(status, 200, text);
}

/** Returns the worker number of each logged answer. */
const getAnsweringWorkers = (parley: ParleyProcess): readonly unknown[] =>
  findLogLines(parley.output(), 'request')
    .filter(({ operation }) => operation === 'chat-completions.create')
    .map(({ worker }) => worker);

/** Waits until both workers have answered. @param after Number of earlier answers to ignore. */
const waitUntilBothAnswered = (parley: ParleyProcess, after: number) =>
  until('both workers have answered', WAIT, async () =>
    new Set(getAnsweringWorkers(parley).slice(after)).size === 2 ? true : undefined,
  );

/** Finds the engine processes of a Parley by the run folder in their arguments. */
const findEngineProcesses = ({ data }: Parley): { pid: number; line: string }[] =>
  spawnSync('ps', ['-A', '-ww', '-o', 'pid=,args='], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter((line) => line.includes('llama/process') && line.includes(data))
    .map((line) => ({ pid: Number.parseInt(line, 10), line }));

describe('two workers on real weights', { skip: getWeightsSkipReason('svc-tiny') }, () => {
  let parley: ParleyProcess;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-weights-'));
    const file = findWeightsFile(TINY);
    assert.ok(file !== undefined);
    for (const name of ['one', 'two']) await symlink(file, join(folder, `${name}.gguf`));
    // The service starts the engine of svc-plus at once; here it is not the one whose start is tested.
    const models = Object.entries({ 'svc-plus': 'one', one: 'one', two: 'two' }).map(
      ([name, weights]) => `  ${name}: { path: '${join(folder, `${weights}.gguf`)}' }\n`,
    );
    parley = await startParley({ config: `models:\n${models.join('')}`, env: { PARLEY_WORKERS: '2' } });
  });
  after(async () => {
    await parley.stop();
    await rm(folder, { recursive: true });
  });

  test('share one engine process, which starts once', async () => {
    const before = findEngineProcesses(parley).length;
    const earlier = getAnsweringWorkers(parley).length;
    await sendMany(parley);
    assert.equal(findEngineProcesses(parley).filter(({ line }) => line.includes(TINY)).length, 1);
    assert.ok(findEngineProcesses(parley).length <= before + 1);
    await waitUntilBothAnswered(parley, earlier);
  });

  test('share one new engine process after the first was killed', async () => {
    await sendMany(parley);
    const [engine] = findEngineProcesses(parley).filter(({ line }) => line.includes(TINY));
    assert.ok(engine);
    process.kill(engine.pid, 'SIGKILL');
    const earlier = getAnsweringWorkers(parley).length;
    await sendMany(parley);
    await waitUntilBothAnswered(parley, earlier);
    const after = findEngineProcesses(parley).filter(({ line }) => line.includes(TINY));
    assert.equal(after.length, 1);
    assert.notEqual(after[0]?.pid, engine.pid);
  });

  test('unload a model that no worker uses when one of them needs another', async () => {
    for (const model of ['one', 'two', 'svc-tiny']) {
      await sendMany(parley, model);
      const running = findEngineProcesses(parley).map(({ line }) => /(\w[\w.-]*)\.gguf/.exec(line)?.[1]);
      assert.ok(running.length <= 2, `${model}: ${running.join(', ')}`);
    }
  });

  test('report the model state of the primary, whichever worker answers', async () => {
    const states = await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        const answer = await fetch(`${parley.address}/ready`, { headers: { connection: 'close' } });
        const { models } = (await answer.json()) as { models: { model: string; state: string }[] };
        return models.find(({ model }) => model === 'svc-tiny')?.state;
      }),
    );
    assert.deepEqual([...new Set(states)], ['ready']);
  });
});
