import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redact } from './redact.ts';

test('hides user, password and query values of a URL', () => {
  const shown: readonly [string, string][] = [
    ['http://host.example:8000/v1', 'http://host.example:8000/v1'],
    ['http://host.example:8000/a@b', 'http://host.example:8000/a@b'],
    ['http://us:pa@host.example/v1', 'http://(hidden)@host.example/v1'],
    ['http://us:p@ss@host.example/v1', 'http://(hidden)@host.example/v1'],
    ['http://us:pa/ss@host.example/v1', 'http://(hidden)@host.example/v1'],
    ['http://host.example/v1?code=a1&x=b%202=#z', 'http://host.example/v1?code=(hidden)&x=(hidden)#z'],
    ['http://host.example/v1?a1b2c3', 'http://host.example/v1?(hidden)'],
  ];
  for (const [address, expected] of shown) {
    assert.equal(redact(address), expected);
    assert.deepEqual(redact({ url: [address] }), { url: [expected] });
  }
});

test('hides all environment variables of a program', () => {
  assert.deepEqual(redact({ models: { m: { environment: { MODE: 'x', N: '1' }, context: 4096 } } }), {
    models: { m: { environment: { MODE: '(hidden)', N: '(hidden)' }, context: 4096 } },
  });
});

test('hides secret arguments, recognized by their option or their form', () => {
  const args = [
    '--api-key',
    'abc',
    '--hf-token=abc',
    '--port',
    '80',
    '-H',
    'Authorization: Bearer abc',
    'sk-0123456789',
  ];
  const shown = ['--api-key', '(hidden)', '--hf-token=(hidden)', '--port', '80', '-H'];
  const more = ['Authorization: Bearer (hidden)', '(hidden)'];
  for (const name of ['args', 'command']) assert.deepEqual(redact({ [name]: args }), { [name]: [...shown, ...more] });
  const counts = ['--max-num-batched-tokens', '8192', '--max-tokens=5', '--api-key', '--port', '80'];
  assert.deepEqual(redact({ args: counts }), { args: counts.toSpliced(4, 1, '(hidden)') });
});

test('hides a setting with the name of a secret, but not the name of a file or variable that holds one', () => {
  assert.deepEqual(redact({ apiKey: 'abc', apiKeyEnv: 'MY_KEY', operatorTokenFile: '/a/b', maxTokens: 5 }), {
    apiKey: '(hidden)',
    apiKeyEnv: 'MY_KEY',
    operatorTokenFile: '/a/b',
    maxTokens: 5,
  });
});
