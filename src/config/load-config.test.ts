import assert from 'node:assert/strict';
import { homedir } from 'node:os';
import { describe, it } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { loadConfig, type LoadNeeds } from './load-config.ts';

const PATH = '/srv/parley/parley.yaml';

/** Loads with nothing around it but what the test says. */
const load = ({ file, ...needs }: Partial<LoadNeeds> & { file?: string } = {}) =>
  loadConfig({
    env: { PARLEY_DATA: '/srv/parley' },
    readFile: (path) => (path === PATH ? file : undefined),
    folder: '/work-folder',
    cores: 4,
    ...needs,
  });

function refusal(needs: Parameters<typeof load>[0]): string {
  try {
    load(needs);
  } catch (error) {
    assert.ok(error instanceof ServiceError && error.kind === 'invalid-request', String(error));
    return error.message;
  }
  return assert.fail('it was accepted');
}

describe('loading the configuration', () => {
  it('needs nothing: one region on loopback, data where XDG says', () => {
    const { config, file } = load({ env: { HOME: '/home/ada' } });
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
    assert.equal(load({ env: { HOME: '/home/ada', XDG_DATA_HOME: '/xdg' } }).config.data, '/xdg/parley');
    assert.equal(load({ env: {} }).config.data, `${homedir()}/.local/share/parley`);
    assert.equal(load({ cores: 1 }).config.engine.threads, 1);
  });

  it('puts flags before environment before file before defaults, and says where each came from', () => {
    const file = 'port: 1\nhost: 0.0.0.0\nlog: {level: warn}\n';
    const env = { PARLEY_DATA: '/srv/parley', PARLEY_PORT: '2', PARLEY_LOG_LEVEL: 'debug' };
    const { config, origins } = load({ file, env, flags: { port: '3', json: true } });
    assert.deepEqual([config.port, config.log.level, config.host], [3, 'debug', '0.0.0.0']);
    assert.equal(origins.get('port'), 'flag --port');
    assert.equal(origins.get('log.level'), 'env PARLEY_LOG_LEVEL');
    assert.equal(origins.get('host'), `file ${PATH}`);
    assert.equal(origins.get('strict'), 'default');
    assert.equal(origins.get('regions.cn-beijing.port'), 'flag --port');
    assert.equal(load({ file, env: { ...env, PARLEY_PORT: '' } }).config.port, 1);
  });

  it('reads numbers, switches and lists from the environment', () => {
    const { config } = load({
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

  it('finds the file by --config, PARLEY_CONFIG or in the data folder, and misses a named one', () => {
    const readFile = (path: string) => `timezone: ${path === '/work-folder/x.yaml' ? 'Asia/Shanghai' : 'UTC'}`;
    const env = { PARLEY_DATA: '/srv/parley' };
    assert.equal(load({ readFile, env, flags: { config: 'x.yaml' } }).config.timezone, 'Asia/Shanghai');
    assert.equal(load({ readFile, env: { ...env, PARLEY_CONFIG: 'x.yaml' } }).file.path, '/work-folder/x.yaml');
    assert.equal(load({ readFile, env }).file.path, PATH);
    assert.match(refusal({ flags: { config: 'none.yaml' } }), /no configuration file \/work-folder\/none.yaml/);
  });

  it('resolves paths of the file against its folder', () => {
    const file = 'modelsFolder: big\nextraModelsFolders: [../more, ~/models]\nstore: {url: "sqlite:sub/x.db"}';
    const { config } = load({ file });
    assert.equal(config.modelsFolder, '/srv/parley/big');
    assert.deepEqual(config.extraModelsFolders, ['/srv/more', `${homedir()}/models`]);
    assert.equal(config.store.url, 'sqlite:/srv/parley/sub/x.db');
  });

  it('names path, rule, value and origin of everything that is wrong, at once', () => {
    const message = refusal({
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

  it('refuses unknown settings and says what may have been meant', () => {
    assert.match(refusal({ file: 'prot: 1' }), /^ {2}prot is not a setting; did you mean port\?/m);
    assert.match(refusal({ file: 'engine: {thread: 1}' }), /engine.thread is not a setting; did you mean threads\?/);
    assert.match(refusal({ file: 'engine: {batchTokens: 512}' }), /engine.batchTokens is not a setting/);
    assert.match(refusal({ file: 'log: {colour: 1}' }), /log.colour is not a setting; there are level, pretty/);
    assert.match(refusal({ file: 'regions: {cn-bejing: {}}' }), /regions.cn-bejing .* did you mean cn-beijing\?/);
    assert.match(refusal({ file: 'regions: {us-east-1: {prt: 1}}' }), /us-east-1.prt .* did you mean port\?/);
    assert.match(refusal({ file: '__proto__: {port: 1}' }), /__proto__ is not a setting/);
  });

  it('warns of a variable with a slip in its name', () => {
    const { warnings } = load({ env: { PARLEY_DATA: '/srv/parley', PARLEY_PROT: '1', PARLEY_TEST_CLIENTS: '1' } });
    assert.deepEqual(warnings, ['PARLEY_PROT is not a setting; did you mean PARLEY_PORT?']);
  });

  it('shows no secret when it refuses', () => {
    assert.ok(!refusal({ file: 'store: {url: "postgres://me:hunter2@db/x"}' }).includes('hunter2'));
    assert.ok(!refusal({ file: 'models:\n  a: {apiKey: hunter2: x}' }).includes('hunter2'));
    assert.ok(!refusal({ file: 'apiKey: hunter2' }).includes('hunter2'));
  });

  it('says where the file is broken', () => {
    assert.match(refusal({ file: 'port: 1\nport: 2' }), /parley.yaml cannot be understood: .*line 2/);
    assert.match(refusal({ file: '- 1' }), /a mapping .* is expected/);
  });

  it('takes a setting without a value as left out, and leaves the models untouched', () => {
    const { config } = load({ file: 'port:\ncors:\nengine:\n  threads:\nmodels:\n  a: {x: null}\n' });
    assert.deepEqual([config.port, config.cors.origins, config.engine.threads], [8000, [], 3]);
    assert.deepEqual(config.models, { a: { x: null } });
  });

  it('is frozen to its last leaf', () => {
    const { config } = load({ file: 'models: {a: {tags: [x]}}' });
    const models = config.models;
    assert.ok(typeof models === 'object' && models !== null && 'a' in models);
    for (const part of [config, config.engine, config.regions['cn-beijing'], config.cors.origins, models.a]) {
      assert.ok(Object.isFrozen(part));
    }
  });

  it('checks addresses, origins and zones', () => {
    for (const [file, rule] of [
      ['publicUrl: example.com', /publicUrl must be an address/],
      ['publicUrl: "https://x/?a=1"', /publicUrl must be an address/],
      ['cors: {origins: ["https://a.example/path"]}', /origins.0 must be \* or an origin/],
      ['timezone: Mars/Olympus', /timezone must be a time zone/],
      ['regions: {}', /must name at least one region/],
    ] as const) {
      assert.match(refusal({ file }), rule);
    }
    assert.equal(load({ file: 'publicUrl: "https://x.example/ai/"' }).config.publicUrl, 'https://x.example/ai');
  });
});
