import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAddressResolver } from './request-address.ts';

const listener = { host: '127.0.0.1', port: 0, region: 'cn-beijing' } as const;
const deprecation = { since: 1, successor: 'https://new.example.com' };

test('takes region and workspace from the first pattern that matches', () => {
  const resolveAddress = createAddressResolver([
    { pattern: 'old.example.com', region: 'ap-southeast-1', deprecated: deprecation },
    { pattern: '{workspace}.eu-central-1.example.com', region: 'eu-central-1' },
    { pattern: '{workspace}.example.com', region: 'us-east-1' },
    { pattern: 'api.{workspace}.example.com', region: 'cn-hongkong' },
  ]);
  const plain = { region: 'cn-beijing', workspace: undefined, deprecated: undefined };
  assert.deepEqual(resolveAddress(listener, 'OLD.example.com:8000'), {
    region: 'ap-southeast-1',
    workspace: undefined,
    deprecated: deprecation,
  });
  assert.deepEqual(resolveAddress(listener, 'w1.eu-central-1.example.com'), {
    region: 'eu-central-1',
    workspace: 'w1',
    deprecated: undefined,
  });
  assert.deepEqual(resolveAddress(listener, 'w1.example.com').region, 'us-east-1');
  assert.deepEqual(resolveAddress(listener, 'api.w1.example.com').workspace, 'w1');
  for (const host of [
    undefined,
    '',
    '[::1]:8000',
    'w1.mars.example.com',
    'oldxexample.com',
    'a.old.example.com.evil',
  ]) {
    assert.deepEqual(resolveAddress(listener, host), plain, host);
  }
});

test('takes the deprecation from the matching pattern, not from the listener', () => {
  const resolveAddress = createAddressResolver([
    { pattern: 'eu.example.com', region: 'eu-central-1' },
    { pattern: 'sg.example.com', region: 'ap-southeast-1', deprecated: deprecation },
  ]);
  const deprecatedListener = { ...listener, deprecated: { since: 2, successor: 'https://beijing.example.com' } };
  assert.equal(resolveAddress(deprecatedListener, 'eu.example.com').deprecated, undefined);
  assert.equal(resolveAddress(deprecatedListener, 'sg.example.com').deprecated, deprecation);
  assert.equal(resolveAddress(deprecatedListener, 'elsewhere.example.com').deprecated, deprecatedListener.deprecated);
});

test('rejects an invalid pattern', () => {
  for (const pattern of ['', '{workspace}.{workspace}.x', '{tenant}.x', '{region}.x', 'a b', 'http://x', '(.*)']) {
    assert.throws(() => createAddressResolver([{ pattern, region: 'cn-beijing' }]), RangeError, pattern);
  }
});
