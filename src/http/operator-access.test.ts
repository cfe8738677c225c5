import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { createOperatorAccess, type OperatorAccessOptions } from './operator-access.ts';

const createRequest = (headers: Readonly<Record<string, string>>, remoteAddress: string, url = '/ready') =>
  ({ url, headers, socket: { remoteAddress } }) as unknown as IncomingMessage;

const check = (
  headers: Readonly<Record<string, string>>,
  {
    peer = '127.0.0.1',
    url,
    ...options
  }: OperatorAccessOptions & { readonly peer?: string; readonly url?: string } = {},
): string => {
  try {
    createOperatorAccess({ token: 'op', ...options })(createRequest({ host: 'localhost:8000', ...headers }, peer, url));
    return 'allowed';
  } catch (error) {
    return error instanceof Error ? error.message : '';
  }
};

test('allows requests of this machine that name it as their host', () => {
  for (const host of [
    'localhost',
    'localhost:8000',
    'LOCALHOST.',
    '127.0.0.1:8000',
    '127.9.9.9',
    '[::1]:8000',
    '[::1]',
  ])
    assert.equal(check({ host }), 'allowed', host);
  for (const peer of ['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1'])
    assert.equal(check({}, { peer }), 'allowed', peer);
});

test('refuses another host, as a page sends whose name resolves to the loopback address', () => {
  for (const host of [
    'evil.com',
    'evil.com:8000',
    'localhost.evil.com',
    '127.0.0.1.evil.com',
    '10.0.0.1',
    '',
    '0x7f.1',
  ])
    assert.match(check({ host }), /^Requests for the host .* need the operator token, or this name in operatorHosts: /);
  assert.match(check({}, { url: 'http://evil.com/ready' }), /"evil\.com"/);
});

test('allows further hosts that the configuration names', () => {
  const hosts = ['Parley.internal'];
  assert.equal(check({ host: 'parley.internal:8000' }, { hosts }), 'allowed');
  assert.match(check({ host: 'other.internal' }, { hosts }), /operatorHosts/);
});

test('refuses requests of other hosts, and of trusted proxies on this machine', () => {
  for (const peer of ['10.0.0.7', '::ffff:10.0.0.7', '128.0.0.1', '2001:db8::1', ''])
    assert.match(check({}, { peer }), /^Requests from other hosts need the operator token: /, peer);
  for (const trustedProxies of [['127.0.0.1'], ['127.0.0.0/8']])
    for (const peer of ['127.0.0.1', '::ffff:127.0.0.1'])
      assert.match(check({}, { peer, trustedProxies }), /^Requests from other hosts/);
  assert.match(check({}, { peer: '::1', trustedProxies: ['::1'] }), /^Requests from other hosts/);
});

test('refuses requests with any header that proxies add', () => {
  for (const name of [
    'forwarded',
    'via',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
    'x-real-ip',
    'x-client-ip',
    'x-cluster-client-ip',
    'true-client-ip',
    'cf-connecting-ip',
    'fly-client-ip',
    'x-original-forwarded-for',
    'x-envoy-external-address',
    'cdn-loop',
    'fastly-client-ip',
    'x-azure-clientip',
    'x-scheme',
  ])
    assert.match(check({ [name]: '203.0.113.7' }), /^Requests through a proxy need the operator token: /, name);
  for (const name of ['user-agent', 'accept', 'x-request-id', 'x-clientele'])
    assert.equal(check({ [name]: 'x' }), 'allowed', name);
});

test('refuses requests of pages in a browser on this machine, whatever the CORS settings', () => {
  for (const headers of [
    { origin: 'https://evil.com' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ])
    assert.match(check(headers as Record<string, string>), /^Requests of pages in a browser need the operator token: /);
  assert.equal(check({ 'sec-fetch-site': 'none' }), 'allowed');
});

test('allows the token from everywhere, and refuses a wrong one also on this machine', () => {
  const anywhere = { host: 'evil.com', 'x-forwarded-for': '203.0.113.7' };
  assert.equal(check({ ...anywhere, authorization: 'Bearer op' }, { peer: '10.0.0.7' }), 'allowed');
  for (const authorization of ['Bearer oq', 'Bearer sk-good', 'Bearer ', 'Basic b3A6'])
    assert.match(check({ authorization }), /is not the operator token: /, authorization);
});
