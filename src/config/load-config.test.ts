import assert from 'node:assert/strict';
import { homedir } from 'node:os';
import { describe, it } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { loadConfig, type LoadConfigOptions } from './load-config.ts';

const PATH = '/srv/parley/parley.yaml';

/** Loads a configuration in a test environment that contains only what the test sets. */
const loadTestConfig = ({ file, ...needs }: Partial<LoadConfigOptions> & { file?: string } = {}) =>
  loadConfig({
    env: { PARLEY_DATA: '/srv/parley' },
    readFile: (path) => (path === PATH ? file : undefined),
    folder: '/work-folder',
    cores: 4,
    ...needs,
  });

function getErrorMessage(needs: Parameters<typeof loadTestConfig>[0]): string {
  try {
    loadTestConfig(needs);
  } catch (error) {
    assert.ok(error instanceof ServiceError && error.kind === 'invalid-request', String(error));
    return error.message;
  }
  return assert.fail('the configuration was accepted');
}

describe('loadConfig', () => {
  it('defaults to one region on loopback and the XDG data folder', () => {
    const { config, file } = loadTestConfig({ env: { HOME: '/home/ada' } });
    assert.equal(config.data, '/home/ada/.local/share/parley');
    assert.deepEqual(config.regions, {
      'cn-beijing': { host: '127.0.0.1', port: 8000, hosts: [], deprecatedHosts: [] },
    });
    assert.equal(config.engine.threads, 3);
    assert.equal(config.modelsFolder, '/home/ada/.local/share/parley/models');
    assert.equal(config.store.url, 'sqlite:/home/ada/.local/share/parley/parley.db');
    assert.equal(config.publicUrl, undefined);
    assert.deepEqual(config.cors.origins, []);
    assert.deepEqual(file, { path: '/home/ada/.local/share/parley/parley.yaml', exists: false });
    assert.equal(loadTestConfig({ env: { HOME: '/home/ada', XDG_DATA_HOME: '/xdg' } }).config.data, '/xdg/parley');
    assert.equal(loadTestConfig({ env: {} }).config.data, `${homedir()}/.local/share/parley`);
    assert.equal(loadTestConfig({ cores: 1 }).config.engine.threads, 1);
  });

  it('prefers flags to environment to file to defaults, and reports each origin', () => {
    const file = 'port: 1\nhost: 0.0.0.0\nlog: {level: warn}\n';
    const env = { PARLEY_DATA: '/srv/parley', PARLEY_PORT: '2', PARLEY_LOG_LEVEL: 'debug' };
    const { config, origins } = loadTestConfig({ file, env, flags: { port: '3', json: true } });
    assert.deepEqual([config.port, config.log.level, config.host], [3, 'debug', '0.0.0.0']);
    assert.equal(origins.get('port'), 'flag --port');
    assert.equal(origins.get('log.level'), 'env PARLEY_LOG_LEVEL');
    assert.equal(origins.get('host'), `file ${PATH}`);
    assert.equal(origins.get('strict'), 'default');
    assert.equal(origins.get('regions.cn-beijing.port'), 'flag --port');
    assert.equal(loadTestConfig({ file, env: { ...env, PARLEY_PORT: '' } }).config.port, 1);
  });

  it('reads numbers, booleans and lists from the environment', () => {
    const { config } = loadTestConfig({
      env: {
        PARLEY_DATA: 'data',
        PARLEY_MODELS: '/a:b::',
        PARLEY_STRICT: 'yes',
        PARLEY_ENGINE_GPU: 'auto',
        PARLEY_LOG_PRETTY: 'off',
        PARLEY_CORS_ORIGINS: 'https://a.example, http://localhost:3000',
        PARLEY_HUB_URL: 'off',
      },
    });
    assert.equal(config.data, '/work-folder/data');
    assert.deepEqual(config.extraModelsFolders, ['/a', '/work-folder/b']);
    assert.deepEqual([config.strict, config.engine.gpu, config.log.pretty], [true, 'auto', false]);
    assert.deepEqual(config.cors.origins, ['https://a.example', 'http://localhost:3000']);
    assert.equal(config.hubUrl, 'off');
  });

  it('finds the file by --config, PARLEY_CONFIG or in the data folder, and reports a missing named file', () => {
    const readFile = (path: string) => `timezone: ${path === '/work-folder/x.yaml' ? 'Asia/Shanghai' : 'UTC'}`;
    const env = { PARLEY_DATA: '/srv/parley' };
    assert.equal(loadTestConfig({ readFile, env, flags: { config: 'x.yaml' } }).config.timezone, 'Asia/Shanghai');
    assert.equal(
      loadTestConfig({ readFile, env: { ...env, PARLEY_CONFIG: 'x.yaml' } }).file.path,
      '/work-folder/x.yaml',
    );
    assert.equal(loadTestConfig({ readFile, env }).file.path, PATH);
    assert.match(
      getErrorMessage({ flags: { config: 'none.yaml' } }),
      /configuration file \/work-folder\/none.yaml does not exist/,
    );
  });

  it('resolves paths in the file relative to its folder', () => {
    const file = 'modelsFolder: big\nextraModelsFolders: [../more, ~/models]\nstore: {url: "sqlite:sub/x.db"}';
    const { config } = loadTestConfig({ file });
    assert.equal(config.modelsFolder, '/srv/parley/big');
    assert.deepEqual(config.extraModelsFolders, ['/srv/more', `${homedir()}/models`]);
    assert.equal(config.store.url, 'sqlite:/srv/parley/sub/x.db');
  });

  it('reports path, rule, value and origin of all problems at once', () => {
    const message = getErrorMessage({
      file: 'port: 70000\nengine: {kind: magic, threads: 0}\ncors: 5\n',
      env: { PARLEY_DATA: '/srv/parley', PARLEY_STRICT: 'perhaps' },
    });
    assert.deepEqual(message.split('\n  ').toSorted(), [
      'The configuration has several problems:',
      `cors must be a mapping, got 5 (file ${PATH})`,
      `engine.kind must be one of llama, scripted, got "magic" (file ${PATH})`,
      `engine.threads must be a whole number from 1 to 1024, got 0 (file ${PATH})`,
      `port must be a whole number from 0 to 65535, got 70000 (file ${PATH})`,
      'strict must be true or false, got "perhaps" (env PARLEY_STRICT)',
    ]);
  });

  it('rejects unknown settings and suggests similar ones', () => {
    assert.match(getErrorMessage({ file: 'prot: 1' }), /^ {2}prot is not a setting; did you mean port\?/m);
    assert.match(
      getErrorMessage({ file: 'engine: {thread: 1}' }),
      /engine.thread is not a setting; did you mean threads\?/,
    );
    assert.match(getErrorMessage({ file: 'engine: {batchTokens: 512}' }), /engine.batchTokens is not a setting/);
    assert.match(
      getErrorMessage({ file: 'log: {colour: 1}' }),
      /log.colour is not a setting; settings are level, pretty/,
    );
    assert.match(
      getErrorMessage({ file: 'regions: {cn-bejing: {}}' }),
      /regions.cn-bejing .* did you mean cn-beijing\?/,
    );
    assert.match(getErrorMessage({ file: 'regions: {us-east-1: {prt: 1}}' }), /us-east-1.prt .* did you mean port\?/);
    assert.match(getErrorMessage({ file: '__proto__: {port: 1}' }), /__proto__ is not a setting/);
  });

  it('warns of a misspelled environment variable', () => {
    const { warnings } = loadTestConfig({
      env: { PARLEY_DATA: '/srv/parley', PARLEY_PROT: '1', PARLEY_TEST_CLIENTS: '1' },
    });
    assert.deepEqual(warnings, ['PARLEY_PROT is not a setting; did you mean PARLEY_PORT?']);
  });

  it('shows no secret in error messages', () => {
    assert.ok(!getErrorMessage({ file: 'store: {url: "postgres://me:hunter2@db/x"}' }).includes('hunter2'));
    assert.ok(!getErrorMessage({ file: 'models:\n  a: {apiKey: hunter2: x}' }).includes('hunter2'));
    assert.ok(!getErrorMessage({ file: 'apiKey: hunter2' }).includes('hunter2'));
  });

  it('reports the position of a syntax error', () => {
    assert.match(getErrorMessage({ file: 'port: 1\nport: 2' }), /parley.yaml is invalid: .*line 2/);
    assert.match(getErrorMessage({ file: '- 1' }), /a mapping .* is expected/);
  });

  it('treats a setting without a value as absent, and leaves the models unchanged', () => {
    const { config } = loadTestConfig({ file: 'port:\ncors:\nengine:\n  threads:\nmodels:\n  a: {x: null}\n' });
    assert.deepEqual([config.port, config.cors.origins, config.engine.threads], [8000, [], 3]);
    assert.deepEqual(config.models, { a: { x: null } });
  });

  it('freezes the configuration deeply', () => {
    const { config } = loadTestConfig({ file: 'models: {a: {tags: [x]}}' });
    const models = config.models;
    assert.ok(typeof models === 'object' && models !== null && 'a' in models);
    for (const part of [config, config.engine, config.regions['cn-beijing'], config.cors.origins, models.a]) {
      assert.ok(Object.isFrozen(part));
    }
  });

  it('checks URLs, origins and time zones', () => {
    for (const [file, rule] of [
      ['publicUrl: example.com', /publicUrl must be a URL/],
      ['publicUrl: "https://x/?a=1"', /publicUrl must be a URL/],
      ['cors: {origins: ["https://a.example/path"]}', /origins.0 must be \* or an origin/],
      ['timezone: Mars/Olympus', /timezone must be a time zone/],
      ['images: {workspaceBytesMax: 1000}', /images\.workspaceBytesMax must be a whole number from 12582912 to/],
      ['regions: {}', /must name at least one region/],
    ] as const) {
      assert.match(getErrorMessage({ file }), rule);
    }
    assert.equal(
      loadTestConfig({ file: 'publicUrl: "https://x.example/ai/"' }).config.publicUrl,
      'https://x.example/ai',
    );
  });
});
