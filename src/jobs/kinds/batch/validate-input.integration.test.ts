import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLine, validateText } from './__fixtures__/validate-text.ts';

test('accepts up to 50,000 lines', async () => {
  const text = Array.from({ length: 50_000 }, (_, at) => createLine(String(at))).join('');
  assert.deepEqual((await validateText(text)).validation, { type: 'valid', model: 'm', total: 50_000 });
  assert.deepEqual((await validateText(`${text}{`)).validation, {
    type: 'invalid',
    problems: [{ code: 'too_many_lines', message: 'The input file has more than 50000 lines.' }],
  });
});
