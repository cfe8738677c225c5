import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expandCatalogue } from './expand.ts';
import { withKnown } from './known.ts';
import { forwardedOf, ownWeightsOf } from './model.ts';
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
const entry = (name: string, additions: unknown = {}) => {
  const found = expand(additions).entries.find((one) => one.name === name);
  assert.ok(found, `no entry ${name}`);
  return found;
};

test('a model takes over what its weights are known for, less what it states itself', () => {
  assert.deepEqual(entry('translate').abilities, {
    thinking: false,
    tools: false,
    vision: false,
    audio: false,
    logprobs: true,
    fillInTheMiddle: false,
  });
  assert.equal(entry('chat').abilities.thinking, 'prompted');
  assert.deepEqual(entry('chat').runs, { type: 'weights', weights: 'small', family: 'qwen2' });
  assert.deepEqual(entry('chat').sampling, { temperature: 0.7, topP: 0.8 });
});

test('one line puts all models on other weights', () => {
  const additions = { weights: { default: 'big' } };
  for (const name of ['chat', 'translate']) {
    assert.deepEqual(entry(name, additions).runs, { type: 'weights', weights: 'big', family: 'qwen2' });
  }
  assert.equal(entry('translate', additions).contextTokens, 8192);
});

test('a model without a context of its own gets what its weights allow, at most 8192', () => {
  assert.equal(entry('translate').contextTokens, 4096);
  assert.equal(entry('chat').contextTokens, 2048);
});

test('a hub reference becomes a model and weights, with nothing claimed that is not known', () => {
  const hub = 'Owner/Repo/Model-Q4_K_M.gguf';
  const { entries, weights } = expand({ models: { mine: { hub }, again: { hub, abilities: { tools: false } } } });
  const mine = entries.find((one) => one.name === 'mine');
  const again = entries.find((one) => one.name === 'again');
  assert.ok(mine?.runs.type === 'weights');
  assert.equal(mine.runs.family, 'template');
  assert.deepEqual(mine.runs, again?.runs);
  assert.equal(mine.abilities.tools, true);
  assert.equal(again?.abilities.tools, false);
  assert.deepEqual(mine.interfaces, ['chat', 'messages', 'responses', 'native']);
  const id = mine.runs.weights;
  assert.match(id, /^Model-Q4_K_M-[0-9a-f]{8}$/);
  const sets = weights.filter((one) => one.id === id);
  assert.deepEqual(sets, [
    {
      id,
      licence: 'not stated',
      contextTokensMax: 8192,
      sources: [{ type: 'hub', repository: 'Owner/Repo', file: 'Model-Q4_K_M.gguf', revision: 'main' }],
    },
  ]);
});

test('files of one name from two places are two sets of weights', () => {
  const { weights } = expand({
    models: { a: { path: '/one/m.gguf' }, b: { path: '/two/m.gguf' }, c: { hub: 'o/r/m.gguf' } },
  });
  assert.equal(new Set(weights.filter(({ id }) => id.startsWith('m-')).map(({ id }) => id)).size, 3);
});

test('a translation model may say which languages it takes, and how it streams', () => {
  const models = { a: { path: '/m.gguf', languages: 'lite', cumulative: true }, b: { path: '/m.gguf' } };
  const [a, b] = [entry('a', { models }), entry('b', { models })];
  assert.deepEqual([a.languages, a.cumulative, b.languages, b.cumulative], ['lite', true, undefined, undefined]);
});

test('an upstream address becomes a model that asks for its own name by default', () => {
  const up = entry('up', { models: { up: { url: 'http://127.0.0.1:9/v1/', apiKeyEnv: 'KEY' } } });
  assert.deepEqual(up.runs, {
    type: 'upstream',
    addresses: ['http://127.0.0.1:9/v1'],
    apiKeyEnv: 'KEY',
    remote: { model: 'up', input: 'chat', forward: [], timeouts: {}, family: 'template' },
  });
});

test('several addresses, and what is said of the server there, stay together', () => {
  const up = entry('up', {
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
  assert.deepEqual(up.runs, {
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
  assert.deepEqual(forwardedOf(up), ['priority']);
});

test('a program runs a model file of ours, or what it finds by name', () => {
  const own = entry('own', { models: { own: { weights: 'small', command: 'llama-server', startSeconds: 5 } } });
  assert.ok(own.runs.type === 'program');
  assert.equal(ownWeightsOf(own), 'small');
  assert.deepEqual(own.runs.program, { command: 'llama-server', args: [], environment: {}, startMs: 5000 });
  assert.equal(own.runs.remote.family, 'qwen2');
  assert.equal(own.contextTokens, 4096);
  assert.deepEqual(own.abilities, {}, 'the program renders by itself, and tells what it can');
  const prompted = entry('own', { models: { own: { path: '/m.gguf', command: 'llama-server', input: 'prompt' } } });
  assert.equal(prompted.abilities.tools, true);
  const named = entry('n', {
    models: { n: { command: ['serve', '{port}'], upstreamModel: 'o/m', args: ['-x'], environment: { A: 'b' } } },
  });
  assert.ok(named.runs.type === 'program');
  assert.equal(ownWeightsOf(named), undefined);
  assert.deepEqual(named.runs.program, { command: ['serve', '{port}'], args: ['-x'], environment: { A: 'b' } });
});

test('what nobody states of a model elsewhere is unknown, and what its engine tells fills it in', () => {
  const up = entry('up', { models: { up: { url: 'http://h/v1', abilities: { tools: false, thinking: 'none' } } } });
  assert.deepEqual(up.abilities, { tools: false, thinking: false });
  const known = withKnown(up, { contextTokens: 99, abilities: { tools: true, thinking: 'native', vision: true } });
  assert.deepEqual(known.abilities, { tools: false, thinking: false, vision: true });
  assert.equal(known.contextTokens, 99);
  assert.equal(known.isContextGuessed, true, 'what it told does not make it another entry');
  const stated = entry('up', { models: { up: { url: 'http://h/v1', contextTokens: 77 } } });
  assert.equal(withKnown(stated, { contextTokens: 99, abilities: {} }).contextTokens, 77);
});

test('a shipped model keeps what the operator does not state', () => {
  const changed = entry('chat', { models: { chat: { contextTokens: 4096, sampling: { topP: 0.5 } } } });
  assert.equal(changed.description, 'Chat.');
  assert.equal(changed.contextTokens, 4096);
  assert.deepEqual(changed.sampling, { temperature: 0.7, topP: 0.5 });
});

test('another runner takes nothing over from the old one but its role', () => {
  const changed = entry('translate', { models: { translate: { url: 'http://h/v1' } } });
  assert.equal(changed.runs.type, 'upstream');
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

const BAD: readonly [additions: unknown, says: RegExp][] = [
  [
    { models: { y: { weights: 'none-such' } } },
    /^models\.y\.weights: there are no weights named none-such; there are small, big$/,
  ],
  [{ weights: { default: 'none-such' } }, /^weights\.default: there are no weights/],
  [{ weights: { default: 'default' } }, /^weights\.default: there are no weights/],
  [{ aliases: { 'gpt-*': 'none-such' } }, /^aliases\.gpt-\*: there is no model named none-such/],
  [{ models: { y: { description: 'x' } } }, /^models\.y: does not say what runs it: give one of weights, hub/],
  [{ models: { chat: { contextTokens: 5000 } } }, /^models\.chat\.contextTokens: must be at most 4096, got 5000/],
];

test('a reference to nothing is refused with its path', () => {
  for (const [additions, says] of BAD)
    assert.throws(() => expand(additions), { kind: 'invalid-request', message: says });
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
const HEARING = { weights: { ears: { folder: FOLDER } } };

test('weights that are a folder run on the engine for them, and are as large as what is there in the end', () => {
  const additions = { ...HEARING, models: { hear: { weights: 'ears' } } };
  const { runs, interfaces, contextTokens } = entry('hear', additions);
  assert.deepEqual(runs, { type: 'onnx', weights: 'ears', task: 'speech' });
  assert.deepEqual(interfaces, ['speech']);
  assert.equal(contextTokens, 8192);
  assert.equal(ownWeightsOf(entry('hear', additions)), 'ears');
  const { sizeBytes, folder, sources } = expand(HEARING).weights.find(({ id }) => id === 'ears') ?? assert.fail();
  assert.deepEqual([sizeBytes, sources], [15, []]);
  assert.deepEqual(folder?.files[0]?.source, { type: 'packages', sha256: SUM, parts: [PART] });
  assert.equal(folder?.conversion?.source.parts.length, 2);
});

test('a model that is said to serve more than its folder of weights is for is refused by name', () => {
  const models = { chat: { weights: 'ears', interfaces: ['speech', 'chat'] } };
  assert.throws(() => expand({ ...HEARING, models }), {
    kind: 'invalid-request',
    message: 'models.chat.interfaces: its weights are for speech: they serve speech, and not chat',
  });
  const program = { chat: { weights: 'ears', command: 'llama-server' } };
  assert.throws(() => expand({ ...HEARING, models: program }), /models\.chat\.weights: are no model file/);
});

test('vectors go back to weights that write with one line', () => {
  const shipped = {
    weights: { ears: { folder: { ...FOLDER, task: 'vectors' } } },
    models: { embed: { weights: 'ears' } },
  };
  const back = { models: { embed: { weights: 'small', interfaces: ['embeddings'] } } };
  const parts = expandCatalogue(BASE, parseCatalogueAdditions(shipped), parseCatalogueAdditions(back));
  const found = parts.entries.find(({ name }) => name === 'embed');
  assert.deepEqual(found?.runs, { type: 'weights', weights: 'small', family: 'qwen2' });
  assert.deepEqual(found?.interfaces, ['embeddings']);
});
