import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { parseCatalogueAdditions } from './schema.ts';

const FILE = { sizeBytes: 1, sha256: 'a'.repeat(64), parts: [{ package: 'p', version: '1', member: 'm' }] };
const folder = (more: object) => ({
  weights: { w: { folder: { task: 'speech', files: { 'a.json': FILE }, ...more } } },
});
const MADE = { layout: 'ct2-whisper', source: FILE, files: {} };

const BAD: readonly [value: unknown, message: RegExp][] = [
  [{ weights: { w: {} } }, /^weights\.w: needs either sources or a folder/],
  [folder({ task: 'song' }), /^weights\.w\.folder\.task: /],
  [folder({ files: { '../a.json': FILE } }), /^weights\.w\.folder\.files\.\.\.\/a\.json: must be letters/],
  [folder({ files: { a: { ...FILE, sha256: 'A' } } }), /^weights\.w\.folder\.files\.a\.sha256: /],
  [folder({ conversion: { ...MADE, layout: 'ggml' } }), /^weights\.w\.folder\.conversion\.layout: /],
  [folder({ conversion: MADE }), /^weights\.w\.folder\.files: a conversion needs the config\.json/],
  [{ models: { x: { path: '/a.gguf', contextTokens: -1 } } }, /^models\.x\.contextTokens: /],
  [{ models: { x: { path: '/a.gguf', contextTokns: 1 } } }, /^models\.x: .*contextTokns/],
  [{ models: { x: { path: '/a.gguf', url: 'http://h/v1' } } }, /^models\.x: has path and url: set one of/],
  [{ models: { x: { path: '/a.gguf', apiKeyEnv: 'K' } } }, /^models\.x\.apiKeyEnv: requires url/],
  [{ models: { x: { url: 'http://h/v1', command: 'vllm' } } }, /^models\.x: has url and command: set one of/],
  [{ models: { x: { path: '/a.gguf', none: 'no', command: 'vllm' } } }, /^models\.x: has path and command and none/],
  [{ models: { x: { url: 'http://h/v1', args: ['-x'] } } }, /^models\.x\.args: requires command/],
  [{ models: { x: { path: '/a.gguf', server: 'vllm' } } }, /^models\.x\.server: requires url or command/],
  [{ models: { x: { url: 'http://h/v1', server: 'tgi' } } }, /^models\.x\.server: /],
  [{ models: { x: { url: 'http://h', input: 'prompt' } } }, /^models\.x\.server: must be one of llama-server, vllm/],
  [{ models: { x: { url: 'http://h', input: 'prompt', server: 'openai' } } }, /^models\.x\.server: must be one of/],
  [{ models: { x: { command: ['a', '{port}'], input: 'prompt' } } }, /^models\.x\.server: must be one of/],
  [{ models: { x: { url: [] } } }, /^models\.x\.url: /],
  [{ models: { x: { url: 'http://h/v1', timeouts: { idleMs: 0 } } } }, /^models\.x\.timeouts\.idleMs: /],
  [{ models: { x: { url: 'ftp://h/v1' } } }, /^models\.x\.url: /],
  [{ models: { x: { url: 'http://h/v1', apiKeyEnv: 'sk-123' } } }, /^models\.x\.apiKeyEnv: .*not a key/],
  [{ models: { x: { hub: 'owner/repo' } } }, /^models\.x\.hub: must be owner\/repository\/file\.gguf/],
  [{ models: { x: { hub: 'owner/repo/m-00002-of-00003.gguf' } } }, /^models\.x\.hub: .*split.*first part/],
  [{ models: { x: { path: '/m-00002-of-00003.gguf' } } }, /^models\.x\.path: .*split.*first part/],
  [{ models: { x: { hub: 'owner/repo/../../secret.gguf' } } }, /^models\.x\.hub: .*"\.\."/],
  [
    { models: { x: { path: '/a.gguf', family: 'lama' } } },
    /^models\.x\.family: must be one of qwen2, smollm2, template/,
  ],
  [{ models: { x: { path: '/a.gguf', sampling: { temperature: 2 } } } }, /^models\.x\.sampling\.temperature: /],
  [{ models: { '../x': { path: '/a.gguf' } } }, /^models\.\.\.\/x: must be letters/],
  [{ weights: { w: { sources: [] } } }, /^weights\.w\.sources: /],
  [
    { weights: { w: { sources: [{ type: 'hub', repository: 'a/b', file: 'c.gguf', sha256: 'abc' }] } } },
    /^weights\.w\.sources\.0\.sha256: must be 64/,
  ],
  [{ weights: { w: { licens: 'x', sources: [{ type: 'file', path: '/x' }] } } }, /^weights\.w: .*licens/],
  [{ weights: { '../w': 'x' } }, /^weights\.\.\.\/w: /],
  [{ model: {} }, /model/],
  ['models', /^catalogue: /],
];

test('rejects an invalid value with its path', () => {
  for (const [value, message] of BAD) {
    assert.throws(
      () => parseCatalogueAdditions(value),
      (error) => {
        assert.ok(error instanceof ServiceError);
        assert.equal(error.kind, 'invalid-request');
        assert.match(error.message, message);
        return true;
      },
    );
  }
});

test('reports all problems', () => {
  assert.throws(
    () => parseCatalogueAdditions({ models: { x: { url: 'nonsense' }, y: { created: -1 } } }),
    /models\.x\.url: .*\nmodels\.y\.created: /s,
  );
});

test('treats absent and empty sections as empty', () => {
  const nothing = { models: {}, weights: {}, aliases: {} };
  for (const value of [undefined, null, {}, { models: null, weights: undefined }])
    assert.deepEqual(parseCatalogueAdditions(value), nothing);
});

test('parses a hub reference with a slash or a colon before the file', () => {
  for (const hub of ['Owner/Repo-GGUF/q4/model.gguf', 'Owner/Repo-GGUF:q4/model.gguf']) {
    const { models } = parseCatalogueAdditions({ models: { x: { hub } } });
    assert.deepEqual(models['x']?.hub, { repository: 'Owner/Repo-GGUF', file: 'q4/model.gguf' });
  }
});
