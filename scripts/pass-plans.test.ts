import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { INTEGRATION_PASS, SLOW_PASSES, UNIT_PASS } from './pass-plans.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Tests that need a server of another project, which docs/servers.md starts by hand. */
const BY_HAND = /^test\/servers\//;

/** Capabilities whose folder is in this tree; the plans also name files of those that were deleted. */
const capabilities = existsSync(`${ROOT}src/capabilities`) ? readdirSync(`${ROOT}src/capabilities`) : [];
const isInTree = (file: string): boolean =>
  !file.startsWith('src/capabilities/') || capabilities.includes(file.split('/')[2] ?? '');

test('each long file belongs to its pass', () => {
  for (const { globs, longFiles = [] } of SLOW_PASSES) {
    const files = globSync([...globs], { cwd: ROOT });
    assert.deepEqual(
      longFiles.filter((file) => isInTree(file) && !files.includes(file)),
      [],
    );
  }
});

test('every test file belongs to exactly one pass, except those that need a server started by hand', () => {
  const passes = [UNIT_PASS, INTEGRATION_PASS, ...SLOW_PASSES].flatMap(({ name, globs }) =>
    [...new Set(globSync([...globs], { cwd: ROOT }))].map((file) => ({ file, name })),
  );
  const passesByFile = Map.groupBy(passes, ({ file }) => file);
  const faults = globSync('{src,test,scripts,bench}/**/*.test.ts', { cwd: ROOT })
    .filter((file) => !BY_HAND.test(file))
    .map((file) => ({ file, passes: passesByFile.get(file)?.map(({ name }) => name) ?? [] }))
    .filter((found) => found.passes.length !== 1);
  assert.deepEqual(faults, []);
});
