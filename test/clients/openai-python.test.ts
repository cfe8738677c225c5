import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { lacksWeights } from '../models-folder.ts';
import { type Parley, startParley } from './harness.ts';
import { findPython } from './python.ts';

const SCRIPT = fileURLToPath(new URL('python/openai_cases.py', import.meta.url));

/** What the script runs, in its order. */
const CASES = [
  'gets an answer',
  'gets a stream that says the same, and its usage last',
  'can use its own stream collector',
  'gets an answer that ends before a stop string',
  'gets two choices',
  'gets two choices in one stream, told apart by index',
  'gets log probabilities for every token',
  'gets finish reason length at its token limit',
  'with a wrong key raises AuthenticationError',
  'with an unknown model raises NotFoundError',
  'with a temperature of 3 raises BadRequestError, which names the field',
  'lists the models and retrieves one',
  'sees a request id, another one for each call',
  'may leave out the prefix of the compatible interface',
  'frees the only sequence by an abort in mid-stream',
];

const python = findPython('openai');
const skip = python.lacks ?? (lacksWeights('svc-plus') || lacksWeights('svc-tiny'));

describe('the openai client for Python', { skip }, () => {
  const results = new Map(CASES.map((name) => [name, Promise.withResolvers<string | null>()]));
  const strangers: string[] = [];
  let both: readonly Parley[] = [];
  let script: Promise<void> | undefined;

  before(async () => {
    const shared = await startParley();
    both = [shared];
    const one = await startParley({ sequences: 1 });
    both = [shared, one];
    script = run(shared, one);
  });
  after(async () => {
    await script;
    await Promise.all(both.map((parley) => parley.stop()));
  });

  for (const [name, result] of results) {
    test(name, async () => {
      const error = await result.promise;
      if (error !== null) assert.fail(error);
    });
  }

  test('runs no case that is not listed here', async () => {
    await script;
    assert.deepEqual(strangers, []);
  });

  async function run(shared: Parley, one: Parley): Promise<void> {
    const child = spawn(python.path, [SCRIPT], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        ADDRESS: shared.address,
        KEY: shared.key,
        ONE_ADDRESS: one.address,
        ONE_KEY: one.key,
        NO_PROXY: '127.0.0.1',
        PYTHONDONTWRITEBYTECODE: '1',
      },
    });
    const complaint = text(child.stderr);
    for await (const line of createInterface(child.stdout)) {
      const { case: name, error }: { case: string; error: string | null } = JSON.parse(line);
      const result = results.get(name);
      if (result) result.resolve(error);
      else strangers.push(name);
    }
    const reason = `the script did not come to it: ${await complaint}`;
    for (const { resolve } of results.values()) resolve(reason);
  }
});
