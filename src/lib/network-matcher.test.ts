import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createNetworkMatcher } from './network-matcher.ts';

describe('createNetworkMatcher', () => {
  it('accepts addresses, and networks with a prefix length', () => {
    const has = createNetworkMatcher(['127.0.0.1', '10.0.0.0/8', 'fd00::/8']);
    const addresses = ['127.0.0.1', '127.0.0.2', '10.9.8.7', '11.0.0.1', 'fd12::1', 'fe00::1', 'here'];
    assert.deepEqual(addresses.map(has), [true, false, true, false, true, false, false]);
  });

  for (const text of [
    'here',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/x',
    '10.0.0.0/-1',
    '1.2.3/8',
    '',
    '1.2.3.4/',
    '10.0.0.0/8/1',
    '::/ ',
  ]) {
    it(`refuses ${JSON.stringify(text)}`, () => assert.throws(() => createNetworkMatcher([text])));
  }
});
