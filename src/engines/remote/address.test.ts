import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { createAddress } from './address.ts';

test('paths of the format stand below the base address, others beside its version', () => {
  for (const [base, below, beside] of [
    ['http://h:1/v1', 'http://h:1/v1/models', 'http://h:1/health'],
    ['http://h:1/v1/', 'http://h:1/v1/models', 'http://h:1/health'],
    ['http://h:1', 'http://h:1/models', 'http://h:1/health'],
    ['https://h/llm/v1beta?version=2', 'https://h/llm/v1beta/models?version=2', 'https://h/llm/health?version=2'],
    ['https://h/serve', 'https://h/serve/models', 'https://h/serve/health'],
  ] as const) {
    const address = createAddress(base);
    assert.equal(address.of('models').href, below);
    assert.equal(address.of('/health').href, beside);
  }
  assert.equal(createAddress('http://h:1/v1').host, 'h:1');
});

test('what is secret in an address is known in every form, and is in no error', () => {
  const { secrets } = createAddress('http://us%40er:p%2Fss+w@host.test/v1?code=a%20b%2Fc&plain&x=q+r');
  for (const secret of ['us%40er', 'us@er', 'p%2Fss+w', 'p/ss+w', 'a%20b%2Fc', 'a b/c', 'plain', 'q+r', 'q r']) {
    assert.ok(secrets.includes(secret), secret);
  }
  assert.ok(secrets.includes(Buffer.from('us@er:p/ss+w').toString('base64')));
  assert.ok(createAddress('http://%zz:x@host.test').secrets.includes('%zz'));
  assert.deepEqual(createAddress('http://host.test/v1').secrets, []);
  assert.throws(
    () => createAddress('http://user:pass/word@host.test'),
    (error) => !inspect(error).includes('pass'),
  );
});
