import assert from 'node:assert/strict';
import { it } from 'node:test';
import { encodeJson } from './encode-json.ts';

it('returns the bytes that JSON.stringify gives, whatever long texts contain', async () => {
  const long = 'data:image/png;base64,'.padEnd(70_000, 'AbC+/=');
  for (const value of [
    {},
    { a: 'ä"\n', list: [1, null, undefined, true], none: undefined },
    { url: long },
    { urls: [long, 'short', { url: `${long}x` }], text: 'after' },
    { url: `${long}"`, other: `${long}\\`, umlaut: `${long}ä`, control: `${long}\u0000`, del: `${long}\u007f`, long },
    { [long]: long },
  ])
    assert.equal((await encodeJson(value)).toString(), JSON.stringify(value));
});
