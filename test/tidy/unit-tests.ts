import { posix } from 'node:path';
import { findImports } from './imports.ts';
import { isCapabilityTest, type Rule } from './tree.ts';

/** A line that makes a test slower than code alone: a listener, a process, a thread, or a database on disk. */
const INTEGRATION_LINE =
  /\.listen\(|^import (?!type\b).*'node:(?:child_process|worker_threads)'|createSqliteDialect\(\{ file: (?!':memory:')/;

export const unitTests: Rule = {
  name: 'a test with a listener, process, thread or database file is an integration test',
  *check(tree) {
    const imports = Map.groupBy(findImports(tree), ({ path }) => path);
    for (const path of tree.keys()) {
      if (!isUnitTest(path)) continue;
      const testFiles = new Set([path]);
      for (const file of testFiles) {
        const lines = tree.get(file)?.lines ?? [];
        const line = lines.findIndex((text) => INTEGRATION_LINE.test(text)) + 1;
        if (line > 0) {
          yield { path, line: 1, message: `is named *.integration.test.ts, because of ${file}:${line}` };
          break;
        }
        for (const { specifier } of imports.get(file) ?? []) {
          const target = posix.join(posix.dirname(file), specifier);
          if (specifier.startsWith('.') && target.includes('/__fixtures__/')) testFiles.add(target);
        }
      }
    }
  },
};

const isUnitTest = (path: string): boolean =>
  path.startsWith('src/') &&
  path.endsWith('.test.ts') &&
  !path.endsWith('.integration.test.ts') &&
  !path.startsWith('src/service/') &&
  !isCapabilityTest(path);

/** Marks a test to be run without all others, which then pass unseen. */
const FOCUS = /\b(?:test|it|describe|suite)\.only\(|\bonly: true\b/;

export const focusedTests: Rule = {
  name: 'no test is run without the others',
  *check(tree) {
    for (const [path, { lines }] of tree) {
      if (!path.endsWith('.test.ts')) continue;
      const line = lines.findIndex((text) => FOCUS.test(text)) + 1;
      if (line > 0) yield { path, line, message: 'runs only this test; remove `only`' };
    }
  },
};
