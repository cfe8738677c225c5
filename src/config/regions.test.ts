import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadConfig } from './load-config.ts';
import { createHostRules, createListenerConfigs } from './regions.ts';

const loadTestConfig = (file: string, port = '8000') =>
  loadConfig({ flags: { port }, env: { PARLEY_DATA: '/srv' }, readFile: () => file }).config;

const listListeners = (file: string, port?: string) =>
  createListenerConfigs(loadTestConfig(file, port)).map((listener) => ({
    at: `${listener.host}:${listener.port}`,
    regions: listener.regions.map(({ id }) => id),
  }));

describe('regions and listeners', () => {
  it('creates one listener by default', () => {
    assert.deepEqual(listListeners(''), [{ at: '127.0.0.1:8000', regions: ['cn-beijing'] }]);
  });

  it('creates a listener per port, shared by regions with different hosts', () => {
    const file = `
regions:
  cn-beijing:
  us-east-1: { port: 8001, host: 0.0.0.0 }
  eu-central-1: { hosts: ['{workspace}.eu-central-1.example.com'] }
`;
    assert.deepEqual(listListeners(file.replace('cn-beijing:', 'cn-beijing: {}')), [
      { at: '127.0.0.1:8000', regions: ['cn-beijing', 'eu-central-1'] },
      { at: '0.0.0.0:8001', regions: ['us-east-1'] },
    ]);
  });

  it('rejects two regions that cannot be distinguished', () => {
    assert.throws(() => loadTestConfig('regions: {cn-beijing: {}, us-east-1: {}}'), {
      message: /regions.us-east-1.hosts must distinguish this region from another one on 127.0.0.1:8000/,
    });
  });

  it('creates a listener per region for port 0', () => {
    assert.equal(listListeners('regions: {cn-beijing: {}, us-east-1: {}}', '0').length, 2);
  });

  it('accepts deprecated hosts only with `deprecated`', () => {
    const address = 'deprecatedHosts: [old.example.com]';
    const { regions } = loadTestConfig(
      `regions: {cn-hongkong: {${address}, deprecated: {since: 2026-01-31, link: 'https://x.example/move'}}}`,
    );
    assert.deepEqual(regions['cn-hongkong']?.deprecated, { since: '2026-01-31', link: 'https://x.example/move' });
    assert.throws(() => loadTestConfig(`regions: {cn-hongkong: {${address}}}`), {
      message: /cn-hongkong.deprecated must have/,
    });
    assert.throws(() => loadTestConfig('regions: {cn-hongkong: {deprecated: {since: soon, link: x}}}'), {
      message: /since must/,
    });
  });

  it('accepts {workspace} and {region} only as whole labels of a host name', () => {
    for (const host of ['{workspace}.{region}.example.com', 'api.{workspace}.com', '{region}.x', 'xn--p1ai.example']) {
      assert.deepEqual(loadTestConfig(`regions: {cn-beijing: {hosts: ['${host}']}}`).regions['cn-beijing']?.hosts, [
        host,
      ]);
    }
    for (const host of [
      'EU.example.com',
      '*.example.com',
      'x:80',
      '{workspace}x.com',
      'x{region}.com',
      '{tenant}.com',
      '{workspace}.{workspace}.com',
      '{region}.a.{region}.com',
      '{workspace}.{region}',
      'a..com',
      '-a.com',
      '',
    ]) {
      assert.throws(
        () => loadTestConfig(`regions: {cn-beijing: {hosts: ['${host}']}}`),
        { kind: 'invalid-request' },
        host,
      );
    }
  });

  const MOVE = "deprecated: {since: '2026-01-31', link: 'https://x.example/move'}";
  const deprecation = { since: '2026-01-31', link: 'https://x.example/move' };
  const rules = (file: string) =>
    createHostRules(loadTestConfig(file)).map(({ pattern, id, deprecated }) => [pattern, id, deprecated?.link]);

  it('expands {region} to every configured region', () => {
    const file = `
regions:
  cn-beijing: { hosts: ['{workspace}.{region}.example.com'] }
  us-east-1: { hosts: [us.example.com] }
  eu-central-1: {}
`;
    assert.deepEqual(rules(file), [
      ['us.example.com', 'us-east-1', undefined],
      ['{workspace}.cn-beijing.example.com', 'cn-beijing', undefined],
      ['{workspace}.us-east-1.example.com', 'us-east-1', undefined],
      ['{workspace}.eu-central-1.example.com', 'eu-central-1', undefined],
    ]);
    assert.deepEqual(listListeners(file), [
      { at: '127.0.0.1:8000', regions: ['cn-beijing', 'us-east-1', 'eu-central-1'] },
    ]);
  });

  it('prefers an exact name to one with placeholders, and a named region to {region}', () => {
    const file = `
regions:
  cn-beijing: { hosts: ['{workspace}.example.com', '{workspace}.{region}.example.com'] }
  us-east-1: { hosts: ['us.example.com', '{workspace}.cn-beijing.example.com'] }
`;
    assert.deepEqual(
      rules(file).map(([pattern, id]) => `${pattern} ${id}`),
      [
        'us.example.com us-east-1',
        '{workspace}.example.com cn-beijing',
        '{workspace}.cn-beijing.example.com us-east-1',
        '{workspace}.cn-beijing.example.com cn-beijing',
        '{workspace}.us-east-1.example.com us-east-1',
      ],
    );
  });

  it('deprecates all hosts of a region without deprecatedHosts', () => {
    const file = `
regions:
  cn-beijing: { ${MOVE} }
  us-east-1: { hosts: [us.example.com] }
  eu-central-1: { hosts: [eu.example.com], ${MOVE} }
`;
    assert.deepEqual(rules(file), [
      ['us.example.com', 'us-east-1', undefined],
      ['eu.example.com', 'eu-central-1', deprecation.link],
    ]);
    assert.deepEqual(
      createListenerConfigs(loadTestConfig(file)).map(({ fallback }) => [fallback.id, fallback.deprecated]),
      [['cn-beijing', deprecation]],
    );
  });

  it('deprecates only the deprecatedHosts of a region that has some', () => {
    const file = `regions: {cn-beijing: {hosts: [a.example.com], deprecatedHosts: [b.example.com], ${MOVE}}}`;
    assert.deepEqual(rules(file), [
      ['b.example.com', 'cn-beijing', deprecation.link],
      ['a.example.com', 'cn-beijing', undefined],
    ]);
    assert.equal(createListenerConfigs(loadTestConfig(file))[0]?.fallback.deprecated, undefined);
  });

  it('uses the deprecation of the region whose entry contains {region}', () => {
    const file = `
regions:
  cn-beijing: { hosts: ['{region}.example.com'], deprecatedHosts: ['old.{region}.example.com'], ${MOVE} }
  us-east-1: { port: 8001, deprecated: { since: '2027-01-31', link: 'https://y.example' } }
`;
    assert.deepEqual(rules(file), [
      ['old.cn-beijing.example.com', 'cn-beijing', deprecation.link],
      ['old.us-east-1.example.com', 'us-east-1', deprecation.link],
      ['cn-beijing.example.com', 'cn-beijing', undefined],
      ['us-east-1.example.com', 'us-east-1', 'https://y.example'],
    ]);
  });
});
