import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RegionId } from '../core/region.ts';
import { createCatalogue, createReplaceableCatalogue } from './catalogue.ts';
import { expandCatalogue } from './expand-catalogue.ts';
import { FAMILIES } from './families/families.ts';
import type { ModelInterface } from './model.ts';
import { parseCatalogueAdditions } from './schema.ts';
import { readShippedCatalogue } from './shipped.ts';

const shipped = await readShippedCatalogue();
const parts = expandCatalogue(shipped);
const catalogue = createCatalogue(parts);

const OWNER = { region: 'cn-beijing', workspace: 'w' } as const;

const resolve = (name: string, wanted: ModelInterface = 'chat', region: RegionId = 'cn-beijing') =>
  catalogue.resolve(name, { interface: wanted, owner: { region, workspace: 'w' } });

const ALIASES: readonly [requestedName: string, modelInterface: ModelInterface, name: string][] = [
  ['qwen-plus', 'chat', 'svc-plus'],
  ['qwen-max-latest', 'messages', 'svc-plus'],
  ['qwen3-8b', 'responses', 'svc-plus'],
  ['qwen-turbo-latest', 'chat', 'svc-turbo'],
  ['qwen-flash', 'chat', 'svc-turbo'],
  ['qwen2.5-coder-32b-instruct', 'completions', 'svc-coder-turbo'],
  ['qwen-coder-turbo', 'completions', 'svc-coder-turbo'],
  ['qwen-mt-plus', 'chat', 'svc-mt-plus'],
  ['qwen-mt-turbo', 'translation', 'svc-mt-turbo'],
  ['qwen-mt-flash', 'native', 'svc-mt-flash'],
  ['qwen-mt-lite', 'native', 'svc-mt-lite'],
  ['qwen-deep-research', 'native', 'svc-deep-research'],
  ['paraformer-realtime-v2', 'speech', 'svc-asr-realtime'],
  ['fun-asr-realtime', 'speech', 'svc-asr-realtime'],
  ['paraformer-v2', 'speech', 'svc-asr'],
  ['fun-asr', 'speech', 'svc-asr'],
  ['fun-asr-2025-11-07', 'speech', 'svc-asr'],
  ['sensevoice-v1', 'speech', 'svc-asr'],
  ['qwen3-asr-flash-filetrans', 'speech', 'svc-asr'],
  ['gummy-realtime-v1', 'speech', 'svc-asr-realtime'],
  ['svc-tiny', 'chat', 'svc-tiny'],
];

test('resolves an alias, and keeps the requested name', async () => {
  for (const [requestedName, modelInterface, name] of ALIASES) {
    const resolved = await resolve(requestedName, modelInterface);
    assert.equal(resolved.entry.name, name, requestedName);
    assert.equal(resolved.requestedName, requestedName);
    assert.equal(catalogue.find(requestedName)?.name, name);
  }
});

test('does not resolve names of other vendors unless configured', () => {
  assert.equal(catalogue.find('gpt-4o'), undefined);
  const extended = createCatalogue(
    expandCatalogue(shipped, parseCatalogueAdditions({ aliases: { 'gpt-*': 'svc-plus' } })),
  );
  assert.equal(extended.find('gpt-4o')?.name, 'svc-plus');
});

test('prefers an exact name to every pattern', () => {
  const additions = { models: { 'qwen-plus': { url: 'http://h/v1' } } };
  const extended = createCatalogue(expandCatalogue(shipped, parseCatalogueAdditions(additions)));
  assert.equal(extended.find('qwen-plus')?.name, 'qwen-plus');
});

test('rejects an unknown model with the models of that interface and region', async () => {
  await assert.rejects(() => resolve('nonsense', 'chat', 'cn-hongkong'), {
    kind: 'model-not-found',
    param: 'model',
    message:
      'The model `nonsense` does not exist or you do not have access to it. Available models: svc-plus, svc-turbo, svc-coder-turbo, svc-tiny. ' +
      'To serve this name, the operator adds to parley.yaml: aliases: {"nonsense": svc-plus}',
  });
  await assert.rejects(() => resolve('gpt-4o'), {
    message: /Available models: svc-plus, svc-turbo, svc-coder-turbo, svc-tiny\. .*\{"gpt-4o": svc-plus\}$/,
  });
  await assert.rejects(() => resolve('text-embedding-3-small', 'embeddings'), {
    message: /Available models: svc-embed\. .*: svc-embed\}$/,
  });
  await assert.rejects(() => resolve('nonsense', 'completions'), { message: /Available models: svc-coder-turbo\. / });
  for (const name of ['two words', '"}', 'a*', 'n'.repeat(129)])
    await assert.rejects(
      () => resolve(name),
      (error: Error) => !error.message.includes('aliases:'),
      name,
    );
  const chatting = { interface: 'native', owner: OWNER, exceptInterfaces: ['translation', 'research'] } as const;
  await assert.rejects(() => catalogue.resolve('nonsense', chatting), {
    message: /Available models: svc-plus, svc-turbo, svc-coder-turbo, svc-tiny\. /,
  });
  await assert.rejects(
    () => resolve('n'.repeat(5000)),
    (error: Error) => error.message.length < 500,
  );
});

test('lists and suggests the models that can be called; an error without any names those that have no weights', async () => {
  const replaceable = createReplaceableCatalogue(catalogue);
  replaceable.setCallableCheck(async ({ name }) => name === 'svc-turbo' || name === 'svc-coder-turbo');
  const names = (await replaceable.listCallable(OWNER)).map(({ name }) => name);
  assert.deepEqual(names, ['svc-turbo', 'svc-coder-turbo']);
  const suggest = (wanted: ModelInterface, message: RegExp) =>
    assert.rejects(replaceable.resolve('gpt-4o', { interface: wanted, owner: OWNER }), { message });
  await suggest('chat', /Available models: svc-turbo, svc-coder-turbo\. .*: svc-turbo\}$/);
  await suggest('embeddings', /Available models: none \(not ready: svc-embed\)\. .*: svc-embed\}$/);
  await assert.rejects(replaceable.resolve('svc-turbo', { interface: 'embeddings', owner: OWNER }), {
    message: /Models with the requested interface: none \(not ready: svc-embed\)\.$/,
  });
});

test('rejects names of properties that every object has', async () => {
  for (const name of ['', 'constructor', '__proto__']) {
    await assert.rejects(() => resolve(name), { kind: 'model-not-found' });
  }
});

test('rejects a model on an interface that it does not support, and names the models that do', async () => {
  await assert.rejects(() => resolve('svc-embed'), {
    kind: 'model-not-supported',
    message:
      'Unsupported model svc-embed for OpenAI compatibility mode. Requested interface: chat; supported: embeddings. Models with the requested interface: svc-plus, svc-turbo, svc-coder-turbo, svc-tiny.',
  });
  await assert.rejects(() => resolve('svc-plus', 'completions'), {
    message: /Requested interface: completions; .* Models with the requested interface: svc-coder-turbo\.$/,
  });
  await assert.rejects(() => resolve('qwen-deep-research', 'chat'), { kind: 'model-not-supported' });
});

test('rejects a model that the region does not offer, with the regions that do', async () => {
  await assert.rejects(() => resolve('svc-mt-plus', 'chat', 'eu-central-1'), {
    kind: 'forbidden',
    message: /not offered in Germany \(Frankfurt\) \(eu-central-1\); .*cn-beijing.*ap-southeast-1.*us-east-1/,
  });
  await assert.rejects(() => resolve('svc-deep-research', 'native', 'us-east-1'), { kind: 'forbidden' });
});

test('every shipped model has existing weights, or a reason for having none', () => {
  for (const { name, runner, contextTokens } of catalogue.list()) {
    if (runner.type === 'weights') {
      const weights = catalogue.weights(runner.weights);
      assert.ok(contextTokens <= weights.contextTokensMax, name);
      assert.ok(Object.hasOwn(FAMILIES, runner.family), name);
    } else if (runner.type === 'onnx') {
      assert.equal(catalogue.weights(runner.weights).folder?.task, runner.task, name);
    } else {
      assert.ok(runner.type === 'none' && runner.reason.length > 0, name);
    }
  }
  assert.throws(() => catalogue.weights('none-such'), {
    kind: 'not-found',
    message: /none-such.*qwen2\.5-coder-0\.5b/,
  });
});

/** Weights that also come from packages: those that a fresh install may download by itself. */
const packaged = parts.weights.filter(({ sources }) => sources.some(({ type }) => type === 'packages'));

test('the shipped file pins the commit and the content of each file that a fresh install downloads', () => {
  const sources = packaged.flatMap((weights) => weights.sources);
  const hub = sources.filter((source) => source.type === 'hub');
  assert.ok(hub.length > 0);
  for (const { file, revision, sha256, trust } of hub) {
    assert.match(revision, /^[0-9a-f]{40}$/, file);
    assert.match(sha256 ?? '', /^[0-9a-f]{64}$/, file);
    assert.equal(trust, undefined, file);
  }
});

test('the shipped file matches the documented properties of the weights', () => {
  const parted = packaged.map(({ id, sizeBytes, sources }) => {
    const packages = sources.find((source) => source.type === 'packages');
    const hub = sources.find((source) => source.type === 'hub');
    return [id, sizeBytes, packages?.parts.length, packages?.sha256.slice(0, 8), hub?.sha256 === packages?.sha256];
  });
  assert.deepEqual(parted, [
    ['qwen2.5-coder-0.5b-instruct-q4_k_m', 491_400_064, 6, '1d961463', true],
    ['qwen2.5-coder-1.5b-instruct-q4_k_m', 1_117_320_768, 22, 'cc324af0', true],
    ['smollm2-135m-instruct-q4_1', 98_362_432, 1, 'b179c952', false],
  ]);
  const folders = parts.weights.flatMap(({ id, sizeBytes, folder }) => (folder ? [{ id, sizeBytes, folder }] : []));
  assert.deepEqual(
    folders.map(({ id, sizeBytes, folder: { task, files, conversion } }) => [
      id,
      task,
      sizeBytes,
      files.map(({ name, sha256 }) => `${name} ${sha256.slice(0, 8)}`),
      conversion?.source.sha256.slice(0, 8),
      conversion?.files.length,
    ]),
    [
      [
        'whisper-base',
        'speech',
        106_491_245,
        ['config.json 56a6d811', 'tokenizer.json fb7b6319', 'silero-vad.onnx 7ed98ddb'],
        'd01c3014',
        4,
      ],
      [
        'all-minilm-l6-v2',
        'vectors',
        23_394_866,
        ['model.onnx 8199be6f', 'tokenizer.json be50c362'],
        undefined,
        undefined,
      ],
    ],
  );
});

test('a catalogue can be replaced while it is in use', () => {
  const replaceable = createReplaceableCatalogue(createCatalogue({ entries: [], weights: [], aliases: [] }));
  assert.equal(replaceable.find('svc-plus'), undefined);
  replaceable.replace(catalogue);
  assert.equal(replaceable.find('svc-plus')?.name, 'svc-plus');
  assert.equal(replaceable.list().length, catalogue.list().length);
});

test('information reported by an engine applies until the catalogue is replaced', async () => {
  const up = parseCatalogueAdditions({ models: { up: { url: 'http://h/v1' } }, aliases: { 'u-*': 'up' } });
  const fresh = () => createCatalogue(expandCatalogue(up));
  const replaceable = createReplaceableCatalogue(fresh());
  replaceable.applyModelInfo('up', { contextTokens: 4000, abilities: { vision: true } });
  replaceable.applyModelInfo('u-1', { contextTokens: 1, abilities: {} });
  const wanted = { interface: 'chat', owner: OWNER } as const;
  for (const entry of [
    replaceable.find('u-1'),
    (await replaceable.resolve('up', wanted)).entry,
    replaceable.list()[0],
  ]) {
    assert.equal(entry?.contextTokens, 4000);
    assert.deepEqual(entry?.abilities, { vision: true });
  }
  replaceable.replace(fresh());
  assert.deepEqual(replaceable.find('up')?.abilities, {});
});
