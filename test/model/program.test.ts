import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { request } from 'node:http';
import { delimiter } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { startParley } from '../clients/harness.ts';
import type { Parley, ParleyProcess } from '../clients/harness.ts';
import { LLAMA_SERVER_FOLDER, getLlamaServerSkipReason } from '../llama-server.ts';
import { getWeightsFileSkipReason, TINY, findWeightsFile } from './weights.ts';

// Parley finds llama-server on PATH and runs it for local weights and for entries that name it, as in an operator's
// installation.

const skip = getWeightsFileSkipReason(TINY) || getLlamaServerSkipReason();

/** Number of connections that reach all workers; both of two, except with a probability of 2^-15. */
const CONNECTIONS: Readonly<Record<number, number>> = { 1: 2, 2: 16 };

/** Sends a request on a new connection, so that any worker may accept it. */
const ask = ({ address, key }: Parley, path: string, body: object) =>
  new Promise<{ status: number; text: string }>((resolve, reject) => {
    const sent = request(`${address}/v1/${path}`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      readText(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), reject);
    });
    sent.end(JSON.stringify(body));
  });

const chat = async (parley: Parley, model: string, more: object = {}): Promise<string> => {
  const messages = [{ role: 'user', content: 'Say hello.' }];
  const { status, text } = await ask(parley, 'chat/completions', { model, max_tokens: 4, messages, ...more });
  assert.equal(status, 200, text);
  return text;
};

interface RunningProcess {
  readonly pid: number;
  readonly line: string;
}

/** Finds all processes that a Parley started, directly or indirectly. */
function findDescendants({ pid }: Parley): RunningProcess[] {
  const all = spawnSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .stdout.split('\n')
    .flatMap((text) => {
      const [, ownPid, parent, line] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(text) ?? [];
      return line === undefined ? [] : [{ pid: Number(ownPid), parent: Number(parent), line }];
    });
  const below = (parentPid: number): RunningProcess[] =>
    all.filter(({ parent }) => parent === parentPid).flatMap((each) => [each, ...below(each.pid)]);
  return below(pid);
}

const findServerPrograms = (parley: Parley, model?: string): RunningProcess[] =>
  findDescendants(parley)
    .filter(({ line }) => /llama-server --model /.test(line))
    .filter(({ line }) => model === undefined || line.includes(` --alias ${model} `));
const findEmbeddedEngines = (parley: Parley): RunningProcess[] =>
  findDescendants(parley).filter(({ line }) => line.includes('llama/process'));

for (const workers of [1, 2])
  describe(`server programs of a service with ${workers === 1 ? 'one worker' : 'two workers'}`, { skip }, () => {
    let parley: ParleyProcess;
    before(async () => {
      const file = findWeightsFile(TINY);
      assert.ok(file !== undefined);
      const models = [
        // The service becomes ready when this model is ready.
        `  svc-plus: { weights: ${TINY} }`,
        `  chats: { command: llama-server, path: '${file}', upstreamModel: upstream-name, args: [--slots] }`,
        `  tokens: { command: llama-server, path: '${file}', input: prompt }`,
        `  vectors: { command: llama-server, path: '${file}', interfaces: [embeddings], args: [--pooling, mean] }`,
      ];
      parley = await startParley({
        config: `models:\n${models.join('\n')}\n`,
        env: {
          PARLEY_WORKERS: `${workers}`,
          PARLEY_ENGINE_PREFER: 'llama-server',
          PATH: `${LLAMA_SERVER_FOLDER}${delimiter}${process.env.PATH}`,
        },
      });
    });
    after(async () => {
      const started = findDescendants(parley);
      await parley.stop();
      const left = spawnSync('ps', ['-o', 'pid=,args=', '-p', started.map(({ pid }) => pid).join(',')]).stdout;
      assert.doesNotMatch(String(left), /llama-server --model /, 'a server program outlived the service');
    });

    test('run the local weights once, for all names and workers', async () => {
      await parley.waitForOutput(/"msg":"server program runs the local weights"/);
      await Promise.all(Array.from({ length: CONNECTIONS[workers] ?? 0 }, () => chat(parley, 'svc-tiny')));
      assert.equal(findServerPrograms(parley).length, 1);
      assert.match(findServerPrograms(parley)[0]?.line ?? '', /--ctx-size 4096 --parallel 2 --threads 1/);
      assert.deepEqual(findEmbeddedEngines(parley), []);
    });

    test('run once for a catalogue entry, rendering and parsing its chats', async () => {
      await Promise.all(Array.from({ length: CONNECTIONS[workers] ?? 0 }, () => chat(parley, 'chats')));
      assert.equal(findServerPrograms(parley, 'upstream-name').length, 1);
      assert.match(findServerPrograms(parley, 'upstream-name')[0]?.line ?? '', /--slots$/);
    });

    if (workers > 1) return;

    test('run once for a catalogue entry, with prompts and grammars of Parley', async () => {
      const schema = { type: 'object', properties: { done: { const: true } }, required: ['done'] };
      const format = { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } };
      const text = await chat(parley, 'tokens', { response_format: format, max_tokens: 20, logprobs: true });
      const answer = JSON.parse(text) as {
        choices: { message: { content: string }; logprobs: { content: unknown[] } }[];
      };
      assert.deepEqual(JSON.parse(answer.choices[0]?.message.content ?? ''), { done: true });
      assert.ok((answer.choices[0]?.logprobs.content.length ?? 0) > 1);
      assert.equal(findServerPrograms(parley, 'tokens').length, 1);
    });

    test('start with the embeddings flag for a model that makes vectors', async () => {
      const { status, text } = await ask(parley, 'embeddings', { model: 'vectors', input: 'Hello' });
      assert.equal(status, 200, text);
      const { data } = JSON.parse(text) as { data: { embedding: number[] }[] };
      assert.equal(data[0]?.embedding.length, 576);
      assert.match(findServerPrograms(parley, 'vectors')[0]?.line ?? '', / --embeddings /);
    });

    test('do not exceed the number of models that may be loaded', () => {
      assert.ok(findServerPrograms(parley).length <= 2);
    });
  });
