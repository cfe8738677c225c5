// Test file of the passes in which one process runs many files: makes a suite of each file that is named in
// PARLEY_TEST_FILES. node:test gives all files of a process one root, and would run a hook that stands outside of every
// suite of one file before or after the tests of all the others too.
import { resolve } from 'node:path';
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { FILE_SUITE_PREFIX } from './reporter.ts';

const files: readonly string[] = JSON.parse(process.env.PARLEY_TEST_FILES ?? '[]');
delete process.env.PARLEY_TEST_FILES;

for (const file of files) {
  describe(`${FILE_SUITE_PREFIX}${file}`, async () => {
    await import(pathToFileURL(resolve(file)).href);
  });
}
