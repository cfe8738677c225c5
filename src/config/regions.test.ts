import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadConfig } from './load-config.ts';
import { listenersOf } from './regions.ts';

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

  it('takes host patterns only with the workspace as their first label', () => {
    for (const host of ['EU.example.com', 'a.{workspace}.com', '*.example.com', 'x:80', '{workspace}x.com', '']) {
      assert.throws(() => load(`regions: {cn-beijing: {hosts: ['${host}']}}`), { kind: 'invalid-request' }, host);
    }
  });
});
