import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runWithSecondRun } from '../../scripts/second-run.ts';
import { type FinishedTest, runTestPass } from '../../scripts/test-pass.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-test-pass-'));
after(() => rmSync(folder, { recursive: true }));

interface Options {
  isolation?: 'none' | 'process';
  passTimeoutMs?: number;
  /** How many files have this source. */
  copies?: number;
  runs?: typeof runTestPass;
}

const run = async (
  source: string,
  { isolation = 'process', passTimeoutMs = 60_000, copies = 1, runs = runTestPass }: Options = {},
) => {
  const files = Array.from({ length: copies }, (_, at) => join(folder, `made-up${at || ''}.test.ts`));
  for (const file of files) writeFileSync(file, `import { test, describe, before } from 'node:test';\n${source}`);
  const tests: FinishedTest[] = [];
  // Without it, the inner node:test would take itself for a file of the outer one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const faults = await runs(
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

test('a process that ends a while behind its test is none', async () => {
  const program = `process.stdin.on('end', () => setTimeout(() => {}, 500)).resume()`;
  const { outcomes, faults } = await run(`
    import { spawn } from 'node:child_process';
    test('starts', () => {
      const child = spawn(process.execPath, ['-e', ${JSON.stringify(program)}], { stdio: ['pipe', 'ignore', 'ignore'] });
      child.unref();
      child.stdin.unref();
    });
  `);
  assert.deepEqual([outcomes, faults], [['passed starts'], []]);
});

test('a pass that takes too long is ended', async () => {
  const { faults } = await run(`test('hangs', () => new Promise(() => setInterval(() => {}, 1000)));`, {
    passTimeoutMs: 1_000,
  });
  assert.deepEqual(faults, ['did not end within 1 s']);
});

/** Counts its runs in a file of its own, whatever process it is in. */
const COUNTED = `
  import { appendFileSync, readFileSync } from 'node:fs';
  appendFileSync(import.meta.filename + '.runs', 'x');
  const runs = readFileSync(import.meta.filename + '.runs', 'utf8').length;
`;

const forgetRuns = (): void => {
  for (const at of ['', 1, 2, 3]) rmSync(join(folder, `made-up${at}.test.ts.runs`), { force: true });
};

test('what failed runs again with its file, alone: it fails, or is named as unsteady; and so does what fails only then', async () => {
  forgetRuns();
  const { outcomes, tests, faults } = await run(
    `${COUNTED}
    test('good', () => {});
    test('chance', () => { if (runs === 1) throw new Error('beside others'); });
    test('bad', () => { throw new Error('always'); });
    test('worse', () => { if (runs === 2) throw new Error('later'); });`,
    { runs: runWithSecondRun },
  );
  assert.deepEqual(outcomes.toSorted(), ['failed bad', 'failed worse', 'passed chance', 'passed good', 'passed worse']);
  const [unsteady] = tests.filter((one) => 'firstDetail' in one);
  assert.equal(unsteady?.name, 'chance');
  assert.match(String(unsteady?.firstDetail), /beside others/);
  assert.deepEqual(faults, []);
});

test('many files that fail, a file that ends its process and a process left running are no chance', async () => {
  forgetRuns();
  const chance = `${COUNTED} test('chance', () => { if (runs === 1) throw new Error('beside others'); });`;
  const many = await run(chance, { runs: runWithSecondRun, copies: 4 });
  assert.deepEqual(
    many.outcomes,
    Array.from({ length: 4 }, () => 'failed chance'),
  );

  forgetRuns();
  const ended = await run(`${COUNTED} test('good', () => {}); if (runs === 1) process.exit(3);`, {
    runs: runWithSecondRun,
  });
  assert.match(ended.outcomes.join(), /^failed /);

  forgetRuns();
  const left = await run(
    `${chance}
    import { spawn } from 'node:child_process';
    test('starts', () => spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' }).unref());`,
    { runs: runWithSecondRun },
  );
  assert.deepEqual(left.outcomes, ['passed starts', 'failed chance']);
  assert.match(left.faults.join(), /^left running: /);
});
