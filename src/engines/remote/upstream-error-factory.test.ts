import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createUpstreamErrorFactory } from './upstream-error-factory.ts';

test('masks all secrets in errors and their causes', () => {
  const secrets = ['hunter22', 'hunter22-and-more', 'a"bc', 'abc'];
  const { createFromStatus, createFailure, createTimeout } = createUpstreamErrorFactory({
    upstream: 'host.test',
    apiKey: 'sk-1',
    secrets,
  });
  const message = 'no hunter22-and-more for hunter22 at "a\\"bc" or a"bc with sk-1, abc';
  const safe = 'no [hidden] for [hidden] at "[hidden]" or [hidden] with [key], abc';
  for (const status of [400, 404, 408, 422, 429, 500, 501, 503, undefined]) {
    const { message: messageText, cause } = createFromStatus(status, { message });
    const log = cause instanceof Error ? cause.message : '';
    assert.ok(messageText === safe || log.includes(safe), `${status}`);
    for (const text of [messageText, log]) assert.doesNotMatch(text, /hunter22|sk-1|and-more/);
  }
  for (const { cause } of [createFailure(message), createTimeout(message)]) {
    assert.equal(cause instanceof Error && cause.message, `host.test: ${safe}`);
  }
});
