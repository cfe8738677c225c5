import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { listLimitsPages, readLimitGroups, renderLimitsPage } from './limits-page.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

for (const { page, folder } of listLimitsPages(ROOT)) {
  test(`${page} lists the limits of the code, each with a comment (npm run limits writes it)`, async () => {
    const text = await renderLimitsPage(ROOT, folder);
    assert.equal(readFileSync(join(ROOT, page), 'utf8'), text);
    assert.deepEqual(
      text.split('\n').filter((line) => line.startsWith('| `') && line.endsWith('|  |')),
      [],
    );
  });
}

test('a comment describes the constants that follow it without a blank line', () => {
  const source =
    '/** Page size.\n * Beyond: 400. */\nexport const A_MAX = 1;\nexport const B_MAX = 2;\n\nexport const C = 3;\n';
  assert.deepEqual(readLimitGroups(source), [
    { comment: 'Page size. Beyond: 400.', names: ['A_MAX', 'B_MAX'] },
    { comment: '', names: ['C'] },
  ]);
});
