import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFaults } from './faults.ts';

test('no secret of ours is quoted, neither to callers nor in the log', () => {
  const secrets = ['hunter22', 'hunter22-and-more', 'a"bc', 'abc'];
  const { refused, failed, tooSlow } = createFaults({ upstream: 'host.test', apiKey: 'sk-1', secrets });
  const message = 'no hunter22-and-more for hunter22 at "a\\"bc" or a"bc with sk-1, abc';
  const safe = 'no [hidden] for [hidden] at "[hidden]" or [hidden] with [key], abc';
  for (const status of [400, 404, 408, 422, 429, 500, 501, 503, undefined]) {
    const { message: told, cause } = refused(status, { message });
    const log = cause instanceof Error ? cause.message : '';
    assert.ok(told === safe || log.includes(safe), `${status}`);
    for (const text of [told, log]) assert.doesNotMatch(text, /hunter22|sk-1|and-more/);
  }
  for (const { cause } of [failed(message), tooSlow(message)]) {
    assert.equal(cause instanceof Error && cause.message, `host.test: ${safe}`);
  }
});
