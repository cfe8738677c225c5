import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runTestPassWithRetry } from '../../scripts/run-with-retry.ts';
import { type FinishedTest, runTestPass } from '../../scripts/test-pass.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-test-pass-'));
after(() => rmSync(folder, { recursive: true }));

interface Options {
  isolation?: 'none' | 'process';
  passTimeoutMs?: number;
  exitMsMax?: number;
  /** Number of files with this source. */
  copies?: number;
  runPass?: typeof runTestPass;
}

const runSource = async (
  source: string,
  { isolation = 'process', passTimeoutMs = 60_000, exitMsMax, copies = 1, runPass = runTestPass }: Options = {},
) => {
  const files = Array.from({ length: copies }, (_, number) => join(folder, `made-up${number || ''}.test.ts`));
  for (const file of files) writeFileSync(file, `import { test, describe, before } from 'node:test';\n${source}`);
  const tests: FinishedTest[] = [];
  // If this variable is set, the inner node:test would take itself for a file of the outer one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const faults = await runPass(
    {
      name: 'test',
      files,
      isolation,
      concurrency: 2,
      testTimeoutMs: 30_000,
      passTimeoutMs,
      exitMsMax,
      env,
      showOutput: () => {},
    },
    (finished) => tests.push(finished),
  );
  return { outcomes: tests.map(({ outcome, name }) => `${outcome} ${name}`), tests, faults };
};

test('reports each test once with its suites, but neither suites nor failed parents', async () => {
  const { outcomes, tests, faults } = await runSource(`
    describe('suite', () => {
      test('good', () => {});
      test('parent', (t) => t.test('bad', () => { throw new Error('the error'); }));
    });
    describe('never', { skip: 'no such thing here' }, () => test('inner', () => {}));
    test('todo', { todo: true }, () => { throw new Error('not done'); });
  `);
  assert.deepEqual(outcomes, ['passed suite > good', 'failed suite > parent > bad', 'skipped never', 'failed todo']);
  assert.match(tests[1]?.detail ?? '', /the error/);
  assert.match(tests[1]?.location ?? '', /made-up\.test\.ts:5$/);
  assert.equal(tests[2]?.detail, 'no such thing here');
  assert.deepEqual(faults, []);
});

test('retries the file that ran a test, which a shared module may have declared', async () => {
  writeFileSync(
    join(folder, 'shared.ts'),
    `import { test } from 'node:test';
import { existsSync, writeFileSync } from 'node:fs';
const mark = ${JSON.stringify(join(folder, 'shared-mark'))};
export const declareTest = () => test('flaky', () => { if (!existsSync(mark)) { writeFileSync(mark, ''); throw new Error('first'); } });
`,
  );
  const { outcomes, faults } = await runSource(
    `import { declareTest } from './shared.ts';\ndescribe('suite', () => { declareTest(); });`,
    { runPass: runTestPassWithRetry },
  );
  assert.deepEqual([outcomes, faults], [['passed suite > flaky'], []]);
});

test('reports the time of each file that has a process', async () => {
  const paths: string[] = [];
  const runPass: typeof runTestPass = (pass, onTest) =>
    runTestPass({ ...pass, onFile: ({ path, durationMs }) => durationMs > 0 && paths.push(path) }, onTest);
  await runSource(`test('good', () => {});`, { copies: 2, runPass });
  assert.deepEqual(paths.map((path) => path.replace(/.*\//, '')).toSorted(), ['made-up.test.ts', 'made-up1.test.ts']);
});

test('reports a failed hook as a failure', async () => {
  const { outcomes } = await runSource(`
    describe('suite', () => { before(() => { throw new Error('hook'); }); test('inner', () => {}); });
  `);
  assert.deepEqual(outcomes, ['failed suite > inner', 'failed suite']);
});

test('reports a file without tests and a file that exits the process as failed', async () => {
  assert.match((await runSource('')).tests[0]?.detail ?? '', /contains no test/);
  assert.match((await runSource('process.exit(3);')).tests[0]?.detail ?? '', /code 3/);
});

test('reports a process that exits during a shared pass as a fault', async () => {
  const { faults } = await runSource(`test('good', () => {}); test('bad', () => process.exit(0));`, {
    isolation: 'none',
  });
  assert.match(faults[0] ?? '', /exited with code 0 before all tests were reported/);
});

for (const isolation of ['none', 'process'] as const) {
  test(`reports each test once when files run in parallel, isolation: ${isolation}`, async () => {
    const { tests, faults } = await runSource(
      `describe('suite', () => { for (const name of ['a', 'b', 'c']) test(name, () => {}); });`,
      { isolation, copies: 3 },
    );
    const expected = ['', 1, 2].flatMap((copy) =>
      ['a', 'b', 'c'].map((name) => `made-up${copy}.test.ts suite > ${name}`),
    );
    const reported = tests.map(({ name, location }) => `${/made-up.*(?=:)/.exec(location)?.[0]} ${name}`);
    assert.deepEqual(reported.toSorted(), expected.toSorted());
    assert.deepEqual(faults, []);
  });
}

test('runs a hook that stands outside of every suite for the tests of its file only', async () => {
  const { outcomes, faults } = await runSource(
    `import { beforeEach, after } from 'node:test';
    let runs = 0;
    beforeEach(() => void (runs += 1));
    after(() => { if (runs !== 2) throw new Error('ran ' + runs + ' times'); });
    test('first', () => {});
    describe('suite', () => test('second', () => {}));`,
    { isolation: 'none', copies: 3 },
  );
  assert.deepEqual(
    outcomes.toSorted(),
    ['passed first', 'passed suite > second'].flatMap((outcome) => [outcome, outcome, outcome]),
  );
  assert.deepEqual(faults, []);
});

test('reports a file of a shared pass that cannot be loaded, and runs the others', async () => {
  const { tests } = await runSource(
    `if (import.meta.filename.endsWith('made-up1.test.ts')) throw new Error('broken module');
    test('good', () => {});`,
    { isolation: 'none', copies: 3 },
  );
  assert.deepEqual(tests.map(({ outcome }) => outcome).toSorted(), ['failed', 'passed', 'passed']);
  const failed = tests.find(({ outcome }) => outcome === 'failed');
  assert.match(failed?.name ?? '', /made-up1\.test\.ts$/);
  assert.match(failed?.detail ?? '', /broken module/);
});

test('kills a process left running, and reports a fault', async () => {
  const { faults } = await runSource(
    `
    import { spawn } from 'node:child_process';
    test('starts', () => spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' }).unref());
  `,
    { exitMsMax: 200 },
  );
  assert.equal(faults.length, 1);
  assert.match(faults[0] ?? '', /^left running: .*setInterval/);
});

test('reports no fault for a process that exits shortly after its test', async () => {
  const program = `process.stdin.on('end', () => setTimeout(() => {}, 500)).resume()`;
  const { outcomes, faults } = await runSource(`
    import { spawn } from 'node:child_process';
    test('starts', () => {
      const child = spawn(process.execPath, ['-e', ${JSON.stringify(program)}], { stdio: ['pipe', 'ignore', 'ignore'] });
      child.unref();
      child.stdin.unref();
    });
  `);
  assert.deepEqual([outcomes, faults], [['passed starts'], []]);
});

test('kills a pass that takes too long', async () => {
  const { faults } = await runSource(`test('hangs', () => new Promise(() => setInterval(() => {}, 1000)));`, {
    passTimeoutMs: 1_000,
  });
  assert.deepEqual(faults, ['did not finish within 1 s']);
});

/** Source of a test file that counts its runs in another file. */
const COUNT_RUNS = `
  import { appendFileSync, readFileSync } from 'node:fs';
  appendFileSync(import.meta.filename + '.runs', 'x');
  const runs = readFileSync(import.meta.filename + '.runs', 'utf8').length;
`;

const deleteRunCounts = (): void => {
  for (const number of ['', 1, 2, 3]) rmSync(join(folder, `made-up${number}.test.ts.runs`), { force: true });
};

test('runs files of failed tests again, reports tests that pass then as flaky, and tests that fail then as failed', async () => {
  deleteRunCounts();
  const { outcomes, tests, faults } = await runSource(
    `${COUNT_RUNS}
    test('good', () => {});
    test('chance', () => { if (runs === 1) throw new Error('beside others'); });
    test('bad', () => { throw new Error('always'); });
    test('worse', () => { if (runs === 2) throw new Error('later'); });`,
    { runPass: runTestPassWithRetry },
  );
  assert.deepEqual(outcomes.toSorted(), ['failed bad', 'failed worse', 'passed chance', 'passed good', 'passed worse']);
  const [flaky] = tests.filter((finished) => 'firstDetail' in finished);
  assert.equal(flaky?.name, 'chance');
  assert.match(String(flaky?.firstDetail), /beside others/);
  assert.deepEqual(faults, []);
});

test('does not retry many failed files, a file that exits its process, or a process left running', async () => {
  deleteRunCounts();
  const flakySource = `${COUNT_RUNS} test('chance', () => { if (runs === 1) throw new Error('beside others'); });`;
  const manyFiles = await runSource(flakySource, { runPass: runTestPassWithRetry, copies: 4 });
  assert.deepEqual(
    manyFiles.outcomes,
    Array.from({ length: 4 }, () => 'failed chance'),
  );

  deleteRunCounts();
  const exited = await runSource(`${COUNT_RUNS} test('good', () => {}); if (runs === 1) process.exit(3);`, {
    runPass: runTestPassWithRetry,
  });
  assert.match(exited.outcomes.join(), /^failed /);

  deleteRunCounts();
  const leftRunning = await runSource(
    `${flakySource}
    import { spawn } from 'node:child_process';
    test('starts', () => spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' }).unref());`,
    { runPass: runTestPassWithRetry, exitMsMax: 200 },
  );
  assert.deepEqual(leftRunning.outcomes, ['passed starts', 'failed chance']);
  assert.match(leftRunning.faults.join(), /^left running: /);
});

for (const isolation of ['none', 'process'] as const)
  test(`reports a file without any test, with isolation ${isolation}`, async () => {
    const { tests } = await runSource('for (const name of []) test(name, () => {});', { isolation });
    assert.deepEqual(
      tests.map(({ outcome, detail }) => [outcome, detail]),
      [['failed', 'The file contains no test.']],
    );
    assert.match(tests[0]?.location ?? '', /made-up\.test\.ts/);
  });

test('keeps the failure of a test whose namesake passes in the second run', async () => {
  const source = `for (const n of [2, 1]) test('same', () => { if (n === 1) throw new Error('always'); });`;
  const { outcomes, tests } = await runSource(source, { runPass: runTestPassWithRetry });
  assert.deepEqual(outcomes, ['passed same', 'failed same']);
  assert.match(tests[1]?.detail ?? '', /always/);
});
