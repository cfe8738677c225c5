import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expandCatalogue } from './expand-catalogue.ts';
import { applyEngineModelInfo } from './engine-model-info.ts';
import { getForwardedFields, getWeightsId } from './model.ts';
import { parseCatalogueAdditions } from './schema.ts';

const WEIGHTS = {
  sources: [{ type: 'file', path: '/w.gguf' }],
  contextTokensMax: 4096,
  family: 'qwen2',
  abilities: { tools: true, logprobs: true, thinking: 'prompted' },
  sampling: { temperature: 0.7, topP: 0.8 },
};
const BASE = parseCatalogueAdditions({
  weights: { default: 'small', small: WEIGHTS, big: { ...WEIGHTS, contextTokensMax: 32_768 } },
  models: {
    chat: { weights: 'default', description: 'Chat.', contextTokens: 2048 },
    translate: { weights: 'default', interfaces: ['translation'], abilities: { thinking: 'none', tools: false } },
  },
  aliases: { 'q-*': 'chat', 'x*': 'chat' },
});

const expand = (additions: unknown = {}) => expandCatalogue(BASE, parseCatalogueAdditions(additions));
const expandEntry = (name: string, additions: unknown = {}) => {
  const found = expand(additions).entries.find((one) => one.name === name);
  assert.ok(found, `no entry ${name}`);
  return found;
};

test('a model inherits properties of its weights, except those it sets itself', () => {
  assert.deepEqual(expandEntry('translate').abilities, {
    thinking: false,
    tools: false,
    vision: false,
    audio: false,
    logprobs: true,
    fillInTheMiddle: false,
  });
  assert.equal(expandEntry('chat').abilities.thinking, 'prompted');
  assert.deepEqual(expandEntry('chat').runner, { type: 'weights', weights: 'small', family: 'qwen2' });
  assert.deepEqual(expandEntry('chat').sampling, { temperature: 0.7, topP: 0.8 });
});

test('one line changes the weights of all models', () => {
  const additions = { weights: { default: 'big' } };
  for (const name of ['chat', 'translate']) {
    assert.deepEqual(expandEntry(name, additions).runner, { type: 'weights', weights: 'big', family: 'qwen2' });
  }
  assert.equal(expandEntry('translate', additions).contextTokens, 32_768);
});

test('a model without contextTokens gets the maximum of its weights until its engine reports what fits', () => {
  assert.equal(expandEntry('translate').contextTokens, 4096);
  assert.equal(expandEntry('translate').isContextGuessed, true);
  assert.equal(expandEntry('chat').contextTokens, 2048);
});

test('a hub reference becomes a model and weights, without unknown properties', () => {
  const hub = 'Owner/Repo/Model-Q4_K_M.gguf';
  const { entries, weights } = expand({ models: { mine: { hub }, again: { hub, abilities: { tools: false } } } });
  const mine = entries.find((one) => one.name === 'mine');
  const again = entries.find((one) => one.name === 'again');
  assert.ok(mine?.runner.type === 'weights');
  assert.equal(mine.runner.family, 'template');
  assert.deepEqual(mine.runner, again?.runner);
  assert.equal(mine.abilities.tools, true);
  assert.equal(again?.abilities.tools, false);
  assert.deepEqual(mine.interfaces, ['chat', 'messages', 'responses', 'native']);
  const id = mine.runner.weights;
  assert.match(id, /^Model-Q4_K_M-[0-9a-f]{8}$/);
  const sets = weights.filter((one) => one.id === id);
  assert.deepEqual(sets, [
    {
      id,
      licence: 'not stated',
      contextTokensMax: 32_768,
      sources: [{ type: 'hub', repository: 'Owner/Repo', file: 'Model-Q4_K_M.gguf', revision: 'main' }],
    },
  ]);
});

test('equally named files of different origin are different weights', () => {
  const { weights } = expand({
    models: { a: { path: '/one/m.gguf' }, b: { path: '/two/m.gguf' }, c: { hub: 'o/r/m.gguf' } },
  });
  assert.equal(new Set(weights.filter(({ id }) => id.startsWith('m-')).map(({ id }) => id)).size, 3);
});

test('a translation model may declare its languages and how it streams', () => {
  const models = { a: { path: '/m.gguf', languages: 'lite', cumulative: true }, b: { path: '/m.gguf' } };
  const [a, b] = [expandEntry('a', { models }), expandEntry('b', { models })];
  assert.deepEqual([a.languages, a.cumulative, b.languages, b.cumulative], ['lite', true, undefined, undefined]);
});

test('an upstream URL becomes a model whose upstream name defaults to its own', () => {
  const up = expandEntry('up', { models: { up: { url: 'http://127.0.0.1:9/v1/', apiKeyEnv: 'KEY' } } });
  assert.deepEqual(up.runner, {
    type: 'upstream',
    addresses: ['http://127.0.0.1:9/v1'],
    apiKeyEnv: 'KEY',
    remote: { model: 'up', input: 'chat', forward: [], timeouts: {}, family: 'template' },
  });
});

test('several URLs and the options of their server become one runner', () => {
  const up = expandEntry('up', {
    models: {
      up: {
        url: ['http://a/v1', 'http://b/v1'],
        upstreamModel: 'owner/model',
        server: 'vllm',
        input: 'prompt',
        chatTemplate: '/t.jinja',
        forward: ['priority'],
        timeouts: { idleMs: 5 },
        family: 'qwen2',
      },
    },
  });
  assert.deepEqual(up.runner, {
    type: 'upstream',
    addresses: ['http://a/v1', 'http://b/v1'],
    remote: {
      model: 'owner/model',
      server: 'vllm',
      input: 'prompt',
      chatTemplate: '/t.jinja',
      forward: ['priority'],
      timeouts: { idleMs: 5 },
      family: 'qwen2',
    },
  });
  assert.deepEqual(getForwardedFields(up), ['priority']);
});

test('a program runs a local model file, or a model that it finds by name', () => {
  const localEntry = expandEntry('own', {
    models: { own: { weights: 'small', command: 'llama-server', startSeconds: 5 } },
  });
  assert.ok(localEntry.runner.type === 'program');
  assert.equal(getWeightsId(localEntry), 'small');
  assert.deepEqual(localEntry.runner.program, { command: 'llama-server', args: [], environment: {}, startMs: 5000 });
  assert.equal(localEntry.runner.remote.family, 'qwen2');
  assert.equal(localEntry.contextTokens, 4096);
  assert.deepEqual(localEntry.abilities, {}, 'the program renders prompts itself and reports its abilities');
  const prompted = expandEntry('own', {
    models: { own: { path: '/m.gguf', command: 'llama-server', input: 'prompt' } },
  });
  assert.equal(prompted.abilities.tools, true);
  const named = expandEntry('n', {
    models: { n: { command: ['serve', '{port}'], upstreamModel: 'o/m', args: ['-x'], environment: { A: 'b' } } },
  });
  assert.ok(named.runner.type === 'program');
  assert.equal(getWeightsId(named), undefined);
  assert.deepEqual(named.runner.program, { command: ['serve', '{port}'], args: ['-x'], environment: { A: 'b' } });
});

test('a projector is for a llama-server that gets messages', () => {
  const model = { path: '/m.gguf', command: 'llama-server', mmproj: '/mmproj.gguf' };
  const { runner } = expandEntry('seeing', { models: { seeing: model } });
  assert.ok(runner.type === 'program');
  assert.equal(runner.program.projectorFile, '/mmproj.gguf');
  const refuse = (fields: object, message: RegExp) =>
    assert.throws(() => expandEntry('seeing', { models: { seeing: { ...model, ...fields } } }), { message });
  refuse({ command: 'vllm' }, /^models\.seeing\.mmproj: needs `command: llama-server`/);
  refuse({ command: ['llama-server'] }, /^models\.seeing\.mmproj: needs `command: llama-server`/);
  refuse({ input: 'prompt' }, /^models\.seeing\.mmproj: needs `input: chat`/);
});

test('speculative decoding is for the embedded engine, by default with 8 tokens', () => {
  const model = { path: '/m.gguf', speculative: { method: 'ngram' } };
  const { runner } = expandEntry('m', { models: { m: model } });
  assert.ok(runner.type === 'weights');
  assert.equal(runner.draftTokens, 8);
  const refuse = (fields: object, message: RegExp) =>
    assert.throws(() => expandEntry('m', { models: { m: { ...model, ...fields } } }), { message });
  refuse({ command: 'llama-server' }, /^models\.m\.speculative: is for the embedded engine/);
  refuse({ speculative: { method: 'ngram', tokens: 65 } }, /^models\.m\.speculative\.tokens: /);
  refuse({ speculative: { method: 'draft' } }, /^models\.m\.speculative\.method: /);
});

test('undeclared properties of a remote model are unknown until its engine reports them', () => {
  const up = expandEntry('up', {
    models: { up: { url: 'http://h/v1', abilities: { tools: false, thinking: 'none' } } },
  });
  assert.deepEqual(up.abilities, { tools: false, thinking: false });
  const known = applyEngineModelInfo(up, {
    contextTokens: 99,
    abilities: { tools: true, thinking: 'native', vision: true },
  });
  assert.deepEqual(known.abilities, { tools: false, thinking: false, vision: true });
  assert.equal(known.contextTokens, 99);
  assert.equal(known.isContextGuessed, true, 'the context stays a guess');
  const stated = expandEntry('up', { models: { up: { url: 'http://h/v1', contextTokens: 77 } } });
  assert.equal(applyEngineModelInfo(stated, { contextTokens: 99, abilities: {} }).contextTokens, 77);
});

test('a shipped model keeps the fields that the operator does not set', () => {
  const changed = expandEntry('chat', { models: { chat: { contextTokens: 4096, sampling: { topP: 0.5 } } } });
  assert.equal(changed.description, 'Chat.');
  assert.equal(changed.contextTokens, 4096);
  assert.deepEqual(changed.sampling, { temperature: 0.7, topP: 0.5 });
});

test('a model with another runner keeps only its role', () => {
  const changed = expandEntry('translate', { models: { translate: { url: 'http://h/v1' } } });
  assert.equal(changed.runner.type, 'upstream');
  assert.deepEqual(changed.interfaces, ['translation']);
  assert.deepEqual(changed.abilities, { tools: false, thinking: false });
});

test("the operator's aliases are tried before the shipped ones", () => {
  const { aliases } = expand({ aliases: { 'claude-*': 'chat', 'x*': 'translate' } });
  assert.deepEqual(aliases, [
    { pattern: 'claude-*', model: 'chat' },
    { pattern: 'x*', model: 'translate' },
    { pattern: 'q-*', model: 'chat' },
  ]);
});

const BAD: readonly [additions: unknown, message: RegExp][] = [
  [
    { models: { y: { weights: 'none-such' } } },
    /^models\.y\.weights: unknown weights none-such; available are small, big$/,
  ],
  [{ weights: { default: 'none-such' } }, /^weights\.default: unknown weights/],
  [{ weights: { default: 'default' } }, /^weights\.default: unknown weights/],
  [{ aliases: { 'gpt-*': 'none-such' } }, /^aliases\.gpt-\*: unknown model none-such/],
  [{ models: { y: { description: 'x' } } }, /^models\.y: has no runner: set one of weights, hub/],
  [{ models: { chat: { contextTokens: 5000 } } }, /^models\.chat\.contextTokens: must be at most 4096, got 5000/],
];

test('rejects an unknown reference with its path', () => {
  for (const [additions, message] of BAD)
    assert.throws(() => expand(additions), { kind: 'invalid-request', message: message });
});

const PART = { package: 'p', version: '1', member: 'm' };
const SUM = 'a'.repeat(64);
const FOLDER = {
  task: 'speech',
  files: { 'config.json': { sizeBytes: 10, sha256: SUM, parts: [PART] } },
  conversion: {
    layout: 'ct2-whisper',
    source: { sizeBytes: 1000, sha256: SUM, parts: [PART, PART] },
    files: { 'encoder.onnx': { sizeBytes: 5, sha256: SUM } },
  },
};
const SPEECH_WEIGHTS = { weights: { ears: { folder: FOLDER } } };

test('a folder of weights runs on its engine, and its size is that of the final files', () => {
  const additions = { ...SPEECH_WEIGHTS, models: { listener: { weights: 'ears' } } };
  const { runner, interfaces, contextTokens } = expandEntry('listener', additions);
  assert.deepEqual(runner, { type: 'onnx', weights: 'ears', task: 'speech' });
  assert.deepEqual(interfaces, ['speech']);
  assert.equal(contextTokens, 32_768);
  assert.equal(getWeightsId(expandEntry('listener', additions)), 'ears');
  const { sizeBytes, folder, sources } =
    expand(SPEECH_WEIGHTS).weights.find(({ id }) => id === 'ears') ?? assert.fail();
  assert.deepEqual([sizeBytes, sources], [15, []]);
  assert.deepEqual(folder?.files[0]?.source, { type: 'packages', sha256: SUM, parts: [PART] });
  assert.equal(folder?.conversion?.source.parts.length, 2);
});

test('rejects a model with interfaces that its folder of weights does not support', () => {
  const models = { chat: { weights: 'ears', interfaces: ['speech', 'chat'] } };
  assert.throws(() => expand({ ...SPEECH_WEIGHTS, models }), {
    kind: 'invalid-request',
    message: 'models.chat.interfaces: its weights are for speech and support only speech, not chat',
  });
  const program = { chat: { weights: 'ears', command: 'llama-server' } };
  assert.throws(() => expand({ ...SPEECH_WEIGHTS, models: program }), /models\.chat\.weights: are not a model file/);
});

test('one line moves embeddings from vector weights back to text weights', () => {
  const shipped = {
    weights: { ears: { folder: { ...FOLDER, task: 'vectors' } } },
    models: { embed: { weights: 'ears' } },
  };
  const back = { models: { embed: { weights: 'small', interfaces: ['embeddings'] } } };
  const parts = expandCatalogue(BASE, parseCatalogueAdditions(shipped), parseCatalogueAdditions(back));
  const found = parts.entries.find(({ name }) => name === 'embed');
  assert.deepEqual(found?.runner, { type: 'weights', weights: 'small', family: 'qwen2' });
  assert.deepEqual(found?.interfaces, ['embeddings']);
});

test('a split file of the hub has one hash for each part', () => {
  const hashes = ['a'.repeat(64), 'b'.repeat(64)];
  const expand = (file: string, sha256: string | string[]) =>
    expandCatalogue(parseCatalogueAdditions({ models: { x: { hub: `o/r/${file}`, sha256 } } })).weights[0];
  const weights = expand('q4/m-00001-of-00002.gguf', hashes);
  assert.match(weights?.id ?? '', /^m-[0-9a-f]{8}$/);
  const source = { type: 'hub', repository: 'o/r', file: 'q4/m-00001-of-00002.gguf', revision: 'main' };
  assert.deepEqual(weights?.sources, [{ ...source, partHashes: hashes }]);
  assert.throws(() => expand('m-00001-of-00003.gguf', hashes), /models\.x\.sha256: must be a list of 3 hashes/);
  assert.throws(() => expand('m.gguf', hashes), /models\.x\.sha256: must be one hash/);
});
