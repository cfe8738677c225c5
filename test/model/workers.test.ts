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
import { lacksWeights } from '../models-folder.ts';
import { logLines } from '../log-lines.ts';
import { until } from '../until.ts';
import { TINY, weightsFile } from './weights.ts';

const WITHIN = { withinMs: 60_000 };

/** So many connections meet every one of two workers, but for one time in 2^15. */
const MANY = 16;

/** On a connection of its own, so that any worker may get it. */
const ask = ({ address, key }: Parley, model = 'svc-tiny') =>
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

async function askMany(parley: Parley, model?: string): Promise<void> {
  for (const { status, text } of await Promise.all(Array.from({ length: MANY }, () => ask(parley, model))))
    assert.equal(status, 200, text);
}

/** Numbers of the workers that answered, one for each answer that the log has a line of. */
const workersOfAnswers = (parley: ParleyProcess): readonly unknown[] =>
  logLines(parley.output(), 'request')
    .filter(({ operation }) => operation === 'chat-completions.create')
    .map(({ worker }) => worker);

/** Once both have answered, after so many answers. */
const untilBothAnswered = (parley: ParleyProcess, after: number) =>
  until('both have answered', WITHIN, async () =>
    new Set(workersOfAnswers(parley).slice(after)).size === 2 ? true : undefined,
  );

/** Engine processes of this Parley, by the run folder that stands in their arguments. */
const engines = ({ data }: Parley): { pid: number; line: string }[] =>
  spawnSync('ps', ['-A', '-ww', '-o', 'pid=,args='], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter((line) => line.includes('llama/process') && line.includes(data))
    .map((line) => ({ pid: Number.parseInt(line, 10), line }));

describe('two workers on real weights', { skip: lacksWeights('svc-tiny') }, () => {
  let parley: ParleyProcess;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-weights-'));
    const file = weightsFile(TINY);
    assert.ok(file !== undefined);
    for (const name of ['one', 'two']) await symlink(file, join(folder, `${name}.gguf`));
    const models = ['one', 'two'].map((name) => `  ${name}: { path: '${join(folder, `${name}.gguf`)}' }\n`);
    parley = await startParley({ config: `models:\n${models.join('')}`, env: { PARLEY_WORKERS: '2' } });
  });
  after(async () => {
    await parley.stop();
    await rm(folder, { recursive: true });
  });

  test('share one engine process, which starts once, whoever asks first', async () => {
    const before = engines(parley).length;
    const earlier = workersOfAnswers(parley).length;
    await askMany(parley);
    assert.equal(engines(parley).filter(({ line }) => line.includes(TINY)).length, 1);
    assert.ok(engines(parley).length <= before + 1);
    await untilBothAnswered(parley, earlier);
  });

  test('both answer again after its kill -9, by one new process', async () => {
    await askMany(parley);
    const [engine] = engines(parley).filter(({ line }) => line.includes(TINY));
    assert.ok(engine);
    process.kill(engine.pid, 'SIGKILL');
    const earlier = workersOfAnswers(parley).length;
    await askMany(parley);
    await untilBothAnswered(parley, earlier);
    const after = engines(parley).filter(({ line }) => line.includes(TINY));
    assert.equal(after.length, 1);
    assert.notEqual(after[0]?.pid, engine.pid);
  });

  test('make room together: what no worker uses is closed for what one asks for', async () => {
    for (const model of ['one', 'two', 'svc-tiny']) {
      await askMany(parley, model);
      const running = engines(parley).map(({ line }) => /(\w[\w.-]*)\.gguf/.exec(line)?.[1]);
      assert.ok(running.length <= 2, `${model}: ${running.join(', ')}`);
    }
  });

  test('tell of a model what the primary knows, whichever is asked', async () => {
    const states = await Promise.all(
      Array.from({ length: MANY }, async () => {
        const answer = await fetch(`${parley.address}/ready`, { headers: { connection: 'close' } });
        const { models } = (await answer.json()) as { models: { model: string; state: string }[] };
        return models.find(({ model }) => model === 'svc-tiny')?.state;
      }),
    );
    assert.deepEqual([...new Set(states)], ['ready']);
  });
});
