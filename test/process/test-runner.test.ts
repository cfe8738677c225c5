import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type FinishedTest, runTestPass } from '../../scripts/test-pass.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-test-pass-'));
after(() => rmSync(folder, { recursive: true }));

interface Options {
  isolation?: 'none' | 'process';
  passTimeoutMs?: number;
  /** How many files have this source. */
  copies?: number;
}

const run = async (source: string, { isolation = 'process', passTimeoutMs = 60_000, copies = 1 }: Options = {}) => {
  const files = Array.from({ length: copies }, (_, at) => join(folder, `made-up${at || ''}.test.ts`));
  for (const file of files) writeFileSync(file, `import { test, describe, before } from 'node:test';\n${source}`);
  const tests: FinishedTest[] = [];
  // Without it, the inner node:test would take itself for a file of the outer one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const faults = await runTestPass(
    { name: 'made up', files, isolation, atOnce: 2, testTimeoutMs: 30_000, passTimeoutMs, env, showOutput: () => {} },
    (one) => tests.push(one),
  );
  return { outcomes: tests.map(({ outcome, name }) => `${outcome} ${name}`), tests, faults };
};

test('reports each test once, with its suites, and neither suites nor failed parents', async () => {
  const { outcomes, tests, faults } = await run(`
    describe('suite', () => {
      test('good', () => {});
      test('parent', (t) => t.test('bad', () => { throw new Error('the reason'); }));
    });
    describe('never', { skip: 'no such thing here' }, () => test('inner', () => {}));
    test('todo', { todo: true }, () => { throw new Error('not done'); });
  `);
  assert.deepEqual(outcomes, ['passed suite > good', 'failed suite > parent > bad', 'skipped never', 'failed todo']);
  assert.match(tests[1]?.detail ?? '', /the reason/);
  assert.match(tests[1]?.place ?? '', /made-up\.test\.ts:5$/);
  assert.equal(tests[2]?.detail, 'no such thing here');
  assert.deepEqual(faults, []);
});

test('a failed hook is a failure', async () => {
  const { outcomes } = await run(`
    describe('suite', () => { before(() => { throw new Error('hook'); }); test('inner', () => {}); });
  `);
  assert.deepEqual(outcomes, ['failed suite > inner', 'failed suite']);
});

test('a file without tests, and a file that ends the process, have failed', async () => {
  assert.match((await run('')).tests[0]?.detail ?? '', /contains no test/);
  assert.match((await run('process.exit(3);')).tests[0]?.detail ?? '', /code 3/);
});

test('a process that ends in the middle of a shared pass is a fault', async () => {
  const { faults } = await run(`test('good', () => {}); test('bad', () => process.exit(0));`, { isolation: 'none' });
  assert.match(faults[0] ?? '', /ended with code 0 before all tests were reported/);
});

for (const isolation of ['none', 'process'] as const) {
  test(`each test is reported once where files run side by side, isolation: ${isolation}`, async () => {
    const { tests, faults } = await run(
      `describe('suite', () => { for (const name of ['a', 'b', 'c']) test(name, () => {}); });`,
      { isolation, copies: 3 },
    );
    const wanted = ['', 1, 2].flatMap((copy) =>
      ['a', 'b', 'c'].map((name) => `made-up${copy}.test.ts suite > ${name}`),
    );
    const told = tests.map(({ name, place }) => `${/made-up.*(?=:)/.exec(place)?.[0]} ${name}`);
    assert.deepEqual(told.toSorted(), wanted.toSorted());
    assert.deepEqual(faults, []);
  });
}

test('a process left running is ended and is a fault', async () => {
  const { faults } = await run(`
    import { spawn } from 'node:child_process';
    test('starts', () => spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' }).unref());
  `);
  assert.equal(faults.length, 1);
  assert.match(faults[0] ?? '', /^left running: .*setInterval/);
});

test('a pass that takes too long is ended', async () => {
  const { faults } = await run(`test('hangs', () => new Promise(() => setInterval(() => {}, 1000)));`, {
    passTimeoutMs: 1_000,
  });
  assert.deepEqual(faults, ['did not end within 1 s']);
});
