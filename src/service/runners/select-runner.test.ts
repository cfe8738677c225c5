import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelEntry, ModelInterface } from '../../catalogue/model.ts';
import { selectRunner } from './select-runner.ts';

const REMOTE = { model: 'm', input: 'chat', forward: [], timeouts: {}, family: 'template' } as const;
const PROGRAM = { command: 'vllm', args: [], environment: {} } as const;

const RUNNERS = {
  weights: { type: 'weights', weights: 'w', family: 'f' },
  program: { type: 'program', program: PROGRAM, remote: REMOTE },
  upstream: { type: 'upstream', addresses: ['http://localhost:1/v1'], remote: REMOTE },
  onnx: { type: 'onnx', weights: 'w', task: 'speech' },
  none: { type: 'none', reason: 'Name one.' },
} satisfies Readonly<Record<string, ModelEntry['runner']>>;
const TYPES = ['weights', 'program', 'upstream', 'onnx', 'none'] as const;

const EMBEDDED = { kind: 'llama', preferredProgram: undefined } as const;
const PREFERRED = { kind: 'llama', preferredProgram: '/bin/llama-server' } as const;
const SCRIPTED = { kind: 'scripted', preferredProgram: undefined } as const;

const select = (type: keyof typeof RUNNERS, settings: typeof EMBEDDED | typeof PREFERRED | typeof SCRIPTED) =>
  selectRunner({ runner: RUNNERS[type], interfaces: ['chat'] }, settings);

test('the type of the entry selects the runner, and weights run in the embedded engine', () => {
  const kinds = TYPES.map((type) => select(type, EMBEDDED));
  assert.deepEqual(kinds, ['llama', 'program', 'upstream', 'onnx', 'none']);
});

test('a preferred program replaces the embedded engine only', () => {
  const kinds = TYPES.map((type) => select(type, PREFERRED));
  assert.deepEqual(kinds, ['preferred-server', 'program', 'upstream', 'onnx', 'none']);
});

test('a preferred program does not run weights that write no text', () => {
  const cases: readonly (readonly ModelInterface[])[] = [['embeddings'], ['rerank'], ['embeddings', 'rerank']];
  for (const interfaces of cases)
    assert.equal(selectRunner({ runner: RUNNERS.weights, interfaces }, PREFERRED), 'llama', interfaces.join());
  const interfaces = ['embeddings', 'chat'] as const;
  assert.equal(selectRunner({ runner: RUNNERS.weights, interfaces }, PREFERRED), 'preferred-server');
});

test('a preferred program applies an adapter without a scale', () => {
  const adapter = { name: 'a', base: 'm', path: '/a.gguf' };
  const runWith = (scale: object) =>
    selectRunner(
      { runner: { ...RUNNERS.weights, adapter: { ...adapter, ...scale } }, interfaces: ['chat'] },
      PREFERRED,
    );
  assert.deepEqual([runWith({}), runWith({ scale: 0.5 })], ['preferred-server', 'llama']);
});

test('the scripted engine replaces everything except servers by URL', () => {
  const kinds = TYPES.map((type) => select(type, SCRIPTED));
  assert.deepEqual(kinds, ['scripted', 'scripted', 'upstream', 'scripted', 'scripted']);
});
