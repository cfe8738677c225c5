import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTemporaryFolder } from './__fixtures__/temporary-folder.ts';
import { findPipIndexUrl } from './pip-config.ts';

test('prefers the environment to the files, and the download section to the global one', async (t) => {
  const home = await createTemporaryFolder(t);
  await mkdir(join(home, '.config', 'pip'), { recursive: true });
  const file = join(home, '.config', 'pip', 'pip.conf');
  await writeFile(
    file,
    '# mine\n[global]\nindex-url = https://one.test/simple\n[install]\nindex-url=https://no.test\n',
  );
  assert.equal(await findPipIndexUrl({}, home), 'https://one.test/simple');
  await writeFile(
    file,
    '[global]\nindex_url: https://one.test/simple\n[download]\nindex-url = https://two.test/simple\n',
  );
  assert.equal(await findPipIndexUrl({}, home), 'https://two.test/simple');
  assert.equal(
    await findPipIndexUrl({ PIP_INDEX_URL: 'https://three.test/simple' }, home),
    'https://three.test/simple',
  );
});
