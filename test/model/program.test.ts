import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { request } from 'node:http';
import { delimiter } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { startParley } from '../clients/harness.ts';
import type { Parley, ParleyProcess } from '../clients/harness.ts';
import { LLAMA_SERVER_FOLDER, lacksLlamaServer } from '../llama-server.ts';
import { lacks, TINY, weightsFile } from './weights.ts';

// Weights that llama.cpp's own server runs, as an operator has it: the program is on PATH, and the file says who wants it.

const skip = lacks(TINY) || lacksLlamaServer();

/** So many connections meet every one of two workers, but for one time in 2^15. */
const MANY = 16;

/** On a connection of its own, so that any worker may get it. */
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

interface Running {
  readonly pid: number;
  readonly line: string;
}

/** What this Parley has started, and what that has. */
function descendants({ pid }: Parley): Running[] {
  const all = spawnSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .stdout.split('\n')
    .flatMap((text) => {
      const [, own, parent, line] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(text) ?? [];
      return line === undefined ? [] : [{ pid: Number(own), parent: Number(parent), line }];
    });
  const below = (of: number): Running[] =>
    all.filter(({ parent }) => parent === of).flatMap((each) => [each, ...below(each.pid)]);
  return below(pid);
}

const programs = (parley: Parley, model?: string): Running[] =>
  descendants(parley)
    .filter(({ line }) => /llama-server --model /.test(line))
    .filter(({ line }) => model === undefined || line.includes(` --alias ${model} `));
const embedded = (parley: Parley): Running[] =>
  descendants(parley).filter(({ line }) => line.includes('llama/process'));

for (const workers of [1, 2])
  describe(`server programs of a service with ${workers === 1 ? 'one worker' : 'two workers'}`, { skip }, () => {
    let parley: ParleyProcess;
    before(async () => {
      const file = weightsFile(TINY);
      assert.ok(file !== undefined);
      const models = [
        // The service is ready when this one is.
        `  svc-plus: { weights: ${TINY} }`,
        `  chats: { command: llama-server, path: '${file}', upstreamModel: theirs, args: [--slots] }`,
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
      const started = descendants(parley);
      await parley.stop();
      const left = spawnSync('ps', ['-o', 'pid=,args=', '-p', started.map(({ pid }) => pid).join(',')]).stdout;
      assert.doesNotMatch(String(left), /llama-server --model /, 'its programs end with it');
    });

    test('our weights run in the preferred one, once for all names and workers', async () => {
      await parley.outputWith(/"msg":"a server program runs our weights"/);
      await Promise.all(Array.from({ length: MANY }, () => chat(parley, 'svc-tiny')));
      assert.equal(programs(parley).length, 1);
      assert.match(programs(parley)[0]?.line ?? '', /--ctx-size 4096 --parallel 2 --threads 1/);
      assert.deepEqual(embedded(parley), []);
    });

    test('an entry has its own, which renders and parses by itself', async () => {
      await Promise.all(Array.from({ length: MANY }, () => chat(parley, 'chats')));
      assert.equal(programs(parley, 'theirs').length, 1);
      assert.match(programs(parley, 'theirs')[0]?.line ?? '', /--slots$/);
    });

    if (workers > 1) return;

    test('an entry has its own, whose prompts and grammars are ours', async () => {
      const schema = { type: 'object', properties: { done: { const: true } }, required: ['done'] };
      const format = { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } };
      const text = await chat(parley, 'tokens', { response_format: format, max_tokens: 20, logprobs: true });
      const answer = JSON.parse(text) as {
        choices: { message: { content: string }; logprobs: { content: unknown[] } }[];
      };
      assert.deepEqual(JSON.parse(answer.choices[0]?.message.content ?? ''), { done: true });
      assert.ok((answer.choices[0]?.logprobs.content.length ?? 0) > 1);
      assert.equal(programs(parley, 'tokens').length, 1);
    });

    test('one that makes vectors is started for that', async () => {
      const { status, text } = await ask(parley, 'embeddings', { model: 'vectors', input: 'Hello' });
      assert.equal(status, 200, text);
      const { data } = JSON.parse(text) as { data: { embedding: number[] }[] };
      assert.equal(data[0]?.embedding.length, 576);
      assert.match(programs(parley, 'vectors')[0]?.line ?? '', / --embeddings /);
    });

    test('no more of them run than may be loaded', () => {
      assert.ok(programs(parley).length <= 2);
    });
  });
