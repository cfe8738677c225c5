import assert from 'node:assert/strict';
import { test } from 'node:test';
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
