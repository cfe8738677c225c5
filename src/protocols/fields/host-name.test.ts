import assert from 'node:assert/strict';
import { test } from 'node:test';
import { normalizeHostName } from './host-name.ts';

for (const [text, expected] of [
  ['example.com', 'example.com'],
  ['WWW.Example.Com', 'www.example.com'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['localhost', 'localhost'],
  ['', undefined],
  ['https://example.com', undefined],
  ['example.com/path', undefined],
  ['example.com:443', undefined],
  ['user@example.com', undefined],
  ['*.example.com', undefined],
  ['exa mple.com', undefined],
  ['example.com?x', undefined],
  ['%65xample.com', undefined],
  ['a\u0000b', undefined],
] as const) {
  test(`${JSON.stringify(text)} normalizes to ${expected ?? 'no host'}`, () =>
    assert.equal(normalizeHostName(text), expected));
}
