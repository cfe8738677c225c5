import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { LIMITS_PAGE, readLimitGroups, renderLimitsPage } from './limits-page.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

test('docs/limits.md lists the limits of the code (npm run limits writes it)', async () => {
  assert.equal(readFileSync(join(ROOT, LIMITS_PAGE), 'utf8'), await renderLimitsPage(ROOT));
});

test('every limit has a comment', async () => {
  const page = await renderLimitsPage(ROOT);
  assert.deepEqual(
    page.split('\n').filter((line) => line.startsWith('| `') && line.endsWith('|  |')),
    [],
  );
});

test('a comment describes the constants that follow it without a blank line', () => {
  const source =
    '/** Page size.\n * Beyond: 400. */\nexport const A_MAX = 1;\nexport const B_MAX = 2;\n\nexport const C = 3;\n';
  assert.deepEqual(readLimitGroups(source), [
    { comment: 'Page size. Beyond: 400.', names: ['A_MAX', 'B_MAX'] },
    { comment: '', names: ['C'] },
  ]);
});
