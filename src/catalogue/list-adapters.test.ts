import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expandCatalogue } from './expand-catalogue.ts';
import { getLoadedAdapters, type ModelEntry } from './model.ts';
import { parseCatalogueAdditions } from './schema.ts';

const expand = (models: unknown, more: object = {}): readonly ModelEntry[] =>
  expandCatalogue(parseCatalogueAdditions({ models, ...more })).entries;

const MODEL = {
  path: '/m.gguf',
  description: 'Short.',
  contextTokens: 4_096,
  abilities: { tools: true },
  sampling: { temperature: 0.5 },
  adapters: { sql: '/sql.gguf', soft: { path: '/soft.gguf', scale: 0.5 } },
};

test('each adapter is a model with the settings of its base', () => {
  const [base, sql, soft] = expand({ m: MODEL });
  assert.deepEqual([base?.name, sql?.name, soft?.name], ['m', 'sql', 'soft']);
  assert.ok(base && sql && soft && base.runner.type === 'weights');
  const { runner } = base;
  assert.deepEqual(sql, {
    ...base,
    name: 'sql',
    runner: { ...runner, adapter: { name: 'sql', base: 'm', path: '/sql.gguf' } },
  });
  assert.deepEqual(getLoadedAdapters(base), []);
  assert.deepEqual(getLoadedAdapters(soft), [{ name: 'soft', base: 'm', path: '/soft.gguf', scale: 0.5 }]);
});

test('an alias may stand for an adapter', () => {
  assert.doesNotThrow(() => expand({ m: MODEL }, { aliases: { 'sql-*': 'sql' } }));
});

test('the adapters of a shipped model stay unless the operator sets other weights', () => {
  const shipped = parseCatalogueAdditions({ models: { m: MODEL } });
  const list = (record: object) =>
    expandCatalogue(shipped, parseCatalogueAdditions({ models: { m: record } })).entries.map(({ name }) => name);
  assert.deepEqual(list({ description: 'New.' }), ['m', 'sql', 'soft']);
  assert.deepEqual(list({ path: '/new.gguf', adapters: { other: '/other.gguf' } }), ['m', 'other']);
  assert.deepEqual(list({ path: '/new.gguf' }), ['m']);
});

test('llama-server loads one adapter', () => {
  const [base, sql] = expand({ m: { path: '/m.gguf', command: 'llama-server', adapters: { sql: '/sql.gguf' } } });
  assert.ok(base?.runner.type === 'program' && sql?.runner.type === 'program');
  assert.deepEqual(getLoadedAdapters(base), []);
  assert.deepEqual(getLoadedAdapters(sql), [{ name: 'sql', base: 'm', path: '/sql.gguf' }]);
  assert.deepEqual([base.runner.remote.model, sql.runner.remote.model], ['m', 'sql']);
});

test('vLLM loads all adapters of a model, which requests select', () => {
  const record = { command: 'vllm', upstreamModel: 'org/m', adapters: { sql: '/sql', soft: 'org/soft' } };
  const runners = expand({ m: record }).map(({ runner }) => runner);
  const programs = runners.map((runner) => runner.type === 'program' && runner.program);
  assert.deepEqual(programs[0] && programs[0].adapters, [
    { name: 'sql', base: 'm', path: '/sql' },
    { name: 'soft', base: 'm', path: 'org/soft' },
  ]);
  assert.deepEqual([programs[1], programs[2]], [programs[0], programs[0]]);
  const selected = runners.map((runner) => runner.type === 'program' && [runner.remote.model, runner.remote.adapter]);
  assert.deepEqual(selected, [
    ['org/m', undefined],
    ['org/m', 'sql'],
    ['org/m', 'soft'],
  ]);
});

test('refuses names of other models, and adapters that nothing can apply', () => {
  const refuse = (models: Readonly<Record<string, object>>, message: string) =>
    assert.throws(() => expand(models), { message });
  const isTaken = 'is the name of another model; choose another name';
  refuse({ m: { ...MODEL, adapters: { m: '/a.gguf' } } }, `models.m.adapters.m: ${isTaken}`);
  refuse({ m: { ...MODEL, adapters: { n: '/a.gguf' } }, n: { path: '/n.gguf' } }, `models.m.adapters.n: ${isTaken}`);
  refuse({ m: MODEL, n: { ...MODEL, path: '/n.gguf' } }, `models.n.adapters.sql: ${isTaken}`);
  refuse(
    { m: { url: 'http://h/v1', adapters: { a: '/a' } } },
    'models.m.adapters: requires weights or hub or path or command',
  );
  refuse(
    { m: { ...MODEL, command: ['serve', '{port}'] } },
    'models.m.adapters: need `command: llama-server` or `command: vllm`; pass another program its adapters in `args`',
  );
  refuse(
    { m: { ...MODEL, command: 'llama-server' } },
    'models.m.adapters.soft.scale: is for the embedded engine; remove it or `command`',
  );
  refuse(
    { m: { ...MODEL, interfaces: ['chat', 'embeddings'] } },
    'models.m.adapters: apply to generated text only; remove embeddings from interfaces',
  );
  const folder = { task: 'vectors', files: {} };
  assert.throws(() => expand({ m: { weights: 'w', adapters: { a: '/a' } } }, { weights: { w: { folder } } }), {
    message: 'models.m.adapters: are for models that generate text',
  });
});

test('refuses a name that no model may have, and an empty path', () => {
  const refuse = (adapters: unknown, message: RegExp) =>
    assert.throws(() => expand({ m: { ...MODEL, adapters } }), { message });
  refuse({ 'a b': '/a.gguf' }, /^models\.m\.adapters\.a b: must be letters/);
  refuse({ a: '' }, /^models\.m\.adapters\.a: /);
  refuse({ a: { path: '/a.gguf', strength: 1 } }, /^models\.m\.adapters\.a: .*strength/);
});
