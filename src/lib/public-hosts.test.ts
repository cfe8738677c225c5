import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPublicAddressMatcher, isPublicUrl } from './public-hosts.ts';

describe('createPublicAddressMatcher', () => {
  const isPublic = createPublicAddressMatcher();

  for (const address of [
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2001:200::1',
    '2400:cb00::1',
    '2606:4700:4700::1111',
    '2a00:1450:4001::1',
  ]) {
    it(`accepts ${address}`, () => assert.equal(isPublic(address), true));
  }

  for (const address of ['', 'localhost', '1.1.1.1%eth0', '1.1.1', '2606:4700::1%1', '[::1]', '1.1.1.1/32']) {
    it(`rejects ${JSON.stringify(address)}`, () => assert.equal(isPublic(address), false));
  }
});

describe('isPublicUrl', () => {
  it('tells public hosts from local names and addresses', () => {
    for (const url of ['https://hub.example/x', 'https://1.1.1.1/', 'http://[2606:4700::1111]/'])
      assert.equal(isPublicUrl(new URL(url)), true, url);
    for (const url of [
      'http://localhost/',
      'http://localhost./',
      'http://hub/',
      'http://hub.internal/',
      'http://127.0.0.1/',
      'http://2130706433/',
      'https://10.0.0.1/',
      'https://169.254.169.254/',
      'http://[::1]/',
      'http://[::ffff:127.0.0.1]/',
    ])
      assert.equal(isPublicUrl(new URL(url)), false, url);
  });
});
