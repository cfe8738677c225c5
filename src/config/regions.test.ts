import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadConfig } from './load-config.ts';
import { hostRulesOf, listenersOf } from './regions.ts';

const load = (file: string, port = '8000') =>
  loadConfig({ flags: { port }, env: { PARLEY_DATA: '/srv' }, readFile: () => file }).config;

const places = (file: string, port?: string) =>
  listenersOf(load(file, port)).map((listener) => ({
    at: `${listener.host}:${listener.port}`,
    regions: listener.regions.map(({ id }) => id),
  }));

describe('regions and their addresses', () => {
  it('is one listener by default', () => {
    assert.deepEqual(places(''), [{ at: '127.0.0.1:8000', regions: ['cn-beijing'] }]);
  });

  it('gives a region with a port a listener, and shares one among regions told apart by host', () => {
    const file = `
regions:
  cn-beijing:
  us-east-1: { port: 8001, host: 0.0.0.0 }
  eu-central-1: { hosts: ['{workspace}.eu-central-1.example.com'] }
`;
    assert.deepEqual(places(file.replace('cn-beijing:', 'cn-beijing: {}')), [
      { at: '127.0.0.1:8000', regions: ['cn-beijing', 'eu-central-1'] },
      { at: '0.0.0.0:8001', regions: ['us-east-1'] },
    ]);
  });

  it('refuses two regions that nothing tells apart', () => {
    assert.throws(() => load('regions: {cn-beijing: {}, us-east-1: {}}'), {
      message: /regions.us-east-1.hosts must tell this region from another one on 127.0.0.1:8000/,
    });
  });

  it('gives each region a free port of its own on port 0', () => {
    assert.equal(places('regions: {cn-beijing: {}, us-east-1: {}}', '0').length, 2);
  });

  it('takes deprecated addresses with what their headers say, and refuses them without', () => {
    const address = 'deprecatedHosts: [old.example.com]';
    const { regions } = load(
      `regions: {cn-hongkong: {${address}, deprecated: {since: 2026-01-31, link: 'https://x.example/move'}}}`,
    );
    assert.deepEqual(regions['cn-hongkong']?.deprecated, { since: '2026-01-31', link: 'https://x.example/move' });
    assert.throws(() => load(`regions: {cn-hongkong: {${address}}}`), { message: /cn-hongkong.deprecated must say/ });
    assert.throws(() => load('regions: {cn-hongkong: {deprecated: {since: soon, link: x}}}'), {
      message: /since must/,
    });
  });

  it('takes {workspace} and {region} as whole labels of a host name', () => {
    for (const host of ['{workspace}.{region}.example.com', 'api.{workspace}.com', '{region}.x', 'xn--p1ai.example']) {
      assert.deepEqual(load(`regions: {cn-beijing: {hosts: ['${host}']}}`).regions['cn-beijing']?.hosts, [host]);
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
      assert.throws(() => load(`regions: {cn-beijing: {hosts: ['${host}']}}`), { kind: 'invalid-request' }, host);
    }
  });

  const MOVE = "deprecated: {since: '2026-01-31', link: 'https://x.example/move'}";
  const said = { since: '2026-01-31', link: 'https://x.example/move' };
  const rules = (file: string) =>
    hostRulesOf(load(file)).map(({ pattern, id, deprecated }) => [pattern, id, deprecated?.link]);

  it('lets {region} stand for every configured region, and for no other', () => {
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
    assert.deepEqual(places(file), [{ at: '127.0.0.1:8000', regions: ['cn-beijing', 'us-east-1', 'eu-central-1'] }]);
  });

  it('lets an exact name go before one with placeholders, and a named region before {region}', () => {
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

  it('deprecates every address of a region that names no deprecated ones, and nobody else’s', () => {
    const file = `
regions:
  cn-beijing: { ${MOVE} }
  us-east-1: { hosts: [us.example.com] }
  eu-central-1: { hosts: [eu.example.com], ${MOVE} }
`;
    assert.deepEqual(rules(file), [
      ['us.example.com', 'us-east-1', undefined],
      ['eu.example.com', 'eu-central-1', said.link],
    ]);
    assert.deepEqual(
      listenersOf(load(file)).map(({ fallback }) => [fallback.id, fallback.deprecated]),
      [['cn-beijing', said]],
    );
  });

  it('deprecates only the deprecated hosts of a region that names some', () => {
    const file = `regions: {cn-beijing: {hosts: [a.example.com], deprecatedHosts: [b.example.com], ${MOVE}}}`;
    assert.deepEqual(rules(file), [
      ['b.example.com', 'cn-beijing', said.link],
      ['a.example.com', 'cn-beijing', undefined],
    ]);
    assert.equal(listenersOf(load(file))[0]?.fallback.deprecated, undefined);
  });

  it('deprecates by {region} what the entry says that it stands in', () => {
    const file = `
regions:
  cn-beijing: { hosts: ['{region}.example.com'], deprecatedHosts: ['old.{region}.example.com'], ${MOVE} }
  us-east-1: { port: 8001, deprecated: { since: '2027-01-31', link: 'https://y.example' } }
`;
    assert.deepEqual(rules(file), [
      ['old.cn-beijing.example.com', 'cn-beijing', said.link],
      ['old.us-east-1.example.com', 'us-east-1', said.link],
      ['cn-beijing.example.com', 'cn-beijing', undefined],
      ['us-east-1.example.com', 'us-east-1', 'https://y.example'],
    ]);
  });
});
