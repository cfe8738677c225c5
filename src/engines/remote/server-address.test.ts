import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { createServerAddress } from './server-address.ts';

test('resolves relative paths below the base address, and absolute ones beside its version', () => {
  for (const [base, below, beside] of [
    ['http://h:1/v1', 'http://h:1/v1/models', 'http://h:1/health'],
    ['http://h:1/v1/', 'http://h:1/v1/models', 'http://h:1/health'],
    ['http://h:1', 'http://h:1/models', 'http://h:1/health'],
    ['https://h/llm/v1beta?version=2', 'https://h/llm/v1beta/models?version=2', 'https://h/llm/health?version=2'],
    ['https://h/serve', 'https://h/serve/models', 'https://h/serve/health'],
  ] as const) {
    const address = createServerAddress(base);
    assert.equal(address.resolveUrl('models').href, below);
    assert.equal(address.resolveUrl('/health').href, beside);
  }
  assert.equal(createServerAddress('http://h:1/v1').host, 'h:1');
});

test('lists the secrets of an address in every encoding, and quotes none in errors', () => {
  const { secrets } = createServerAddress('http://us%40er:p%2Fss+w@host.test/v1?code=a%20b%2Fc&plain&x=q+r');
  for (const secret of ['us%40er', 'us@er', 'p%2Fss+w', 'p/ss+w', 'a%20b%2Fc', 'a b/c', 'plain', 'q+r', 'q r']) {
    assert.ok(secrets.includes(secret), secret);
  }
  assert.ok(secrets.includes(Buffer.from('us@er:p/ss+w').toString('base64')));
  assert.ok(createServerAddress('http://%zz:x@host.test').secrets.includes('%zz'));
  assert.deepEqual(createServerAddress('http://host.test/v1').secrets, []);
  assert.throws(
    () => createServerAddress('http://user:pass/word@host.test'),
    (error) => !inspect(error).includes('pass'),
  );
});
