import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAddressBook } from './address.ts';

const listener = { host: '127.0.0.1', port: 0, region: 'cn-beijing' } as const;
const old = { since: 1, successor: 'https://new.example.com' };

test('a pattern gives region and workspace, the first that fits decides', () => {
  const addressOf = createAddressBook([
    { pattern: 'old.example.com', region: 'ap-southeast-1', deprecated: old },
    { pattern: '{workspace}.eu-central-1.example.com', region: 'eu-central-1' },
    { pattern: '{workspace}.example.com', region: 'us-east-1' },
    { pattern: 'api.{workspace}.example.com', region: 'cn-hongkong' },
  ]);
  const plain = { region: 'cn-beijing', workspace: undefined, deprecated: undefined };
  assert.deepEqual(addressOf(listener, 'OLD.example.com:8000'), {
    region: 'ap-southeast-1',
    workspace: undefined,
    deprecated: old,
  });
  assert.deepEqual(addressOf(listener, 'w1.eu-central-1.example.com'), {
    region: 'eu-central-1',
    workspace: 'w1',
    deprecated: undefined,
  });
  assert.deepEqual(addressOf(listener, 'w1.example.com').region, 'us-east-1');
  assert.deepEqual(addressOf(listener, 'api.w1.example.com').workspace, 'w1');
  for (const host of [
    undefined,
    '',
    '[::1]:8000',
    'w1.mars.example.com',
    'oldxexample.com',
    'a.old.example.com.evil',
  ]) {
    assert.deepEqual(addressOf(listener, host), plain, host);
  }
});

test('a host that a pattern fits is as deprecated as its pattern, whatever its listener is', () => {
  const addressOf = createAddressBook([
    { pattern: 'eu.example.com', region: 'eu-central-1' },
    { pattern: 'sg.example.com', region: 'ap-southeast-1', deprecated: old },
  ]);
  const going = { ...listener, deprecated: { since: 2, successor: 'https://beijing.example.com' } };
  assert.equal(addressOf(going, 'eu.example.com').deprecated, undefined);
  assert.equal(addressOf(going, 'sg.example.com').deprecated, old);
  assert.equal(addressOf(going, 'elsewhere.example.com').deprecated, going.deprecated);
});

test('a pattern that cannot be one is the operator’s mistake', () => {
  for (const pattern of ['', '{workspace}.{workspace}.x', '{tenant}.x', '{region}.x', 'a b', 'http://x', '(.*)']) {
    assert.throws(() => createAddressBook([{ pattern, region: 'cn-beijing' }]), RangeError, pattern);
  }
});
