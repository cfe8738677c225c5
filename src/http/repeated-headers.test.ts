import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rejectRepeatedHeaders } from './repeated-headers.ts';

const check = (...rawHeaders: string[]) => rejectRepeatedHeaders({ rawHeaders });

test('refuses two keys, the same one too, and two different hosts', () => {
  for (const [name, repeated] of [
    ['Authorization', ['Authorization', 'Bearer a', 'authorization', 'Bearer b']],
    ['Authorization', ['authorization', 'Bearer a', 'AUTHORIZATION', 'Bearer a']],
    ['x-api-key', ['X-Api-Key', 'a', 'x-api-key', 'b']],
    ['Host', ['Host', 'a.example', 'host', 'b.example']],
  ] as const)
    assert.throws(() => check('Accept', '*/*', ...repeated), {
      kind: 'invalid-request',
      message: `The header ${name} occurs more than once. Send it once.`,
    });
});

test('accepts each header once, the same host twice, and other headers repeatedly', () => {
  check('Host', 'a.example', 'Authorization', 'Bearer a', 'x-api-key', 'a');
  check('Host', 'a.example', 'Host', 'a.example');
  check('Accept', 'a', 'Accept', 'b', 'Date', 'a', 'date', 'b', 'x-request', 'a', 'x-request', 'b');
});
