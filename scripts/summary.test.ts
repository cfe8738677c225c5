import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FlakyTest } from './run-with-retry.ts';
import { createSummary } from './summary.ts';
import type { FinishedTest } from './test-pass.ts';

const createTestResult = (outcome: FinishedTest['outcome'], place = 'src/a.test.ts:1'): FinishedTest => ({
  type: 'test',
  outcome,
  name: `a ${outcome} one`,
  location: place,
  file: 'src/a.test.ts',
  durationMs: 10,
  detail: outcome === 'passed' ? '' : 'because',
});

const run = ({
  isStrict = false,
  pass = 'unit',
  tests = [],
  faults = [],
}: {
  isStrict?: boolean;
  pass?: string;
  tests?: readonly (FinishedTest | FlakyTest)[];
  faults?: readonly string[];
}) => {
  const lines: string[] = [];
  const summary = createSummary({ isStrict, print: (line) => void lines.push(...line.split('\n')), now: () => 0 });
  const finish = summary.startPass(pass, { files: 1, showsEach: false });
  for (const one of tests) summary.addTest(one);
  finish(faults);
  return { exitCode: summary.close(), lines };
};

test('closes with one line that counts skips as neither passed nor failed', () => {
  const { exitCode, lines } = run({
    tests: [createTestResult('passed'), createTestResult('passed'), createTestResult('skipped')],
  });
  assert.equal(exitCode, 0);
  assert.equal(lines.at(-1), '2 passed, 0 failed');
  assert.equal(lines.filter((line) => /^\d+ passed, \d+ failed$/.test(line)).length, 1);
  assert.ok(lines.includes('    a skipped one (src/a.test.ts:1): because'), lines.join('\n'));
});

test('exits with 1 when a test failed, and names it at the end', () => {
  const { exitCode, lines } = run({ tests: [createTestResult('passed'), createTestResult('failed')] });
  assert.equal(exitCode, 1);
  assert.equal(lines.at(-1), '1 passed, 1 failed');
  assert.ok(lines.lastIndexOf('    a failed one (src/a.test.ts:1)') > lines.indexOf('failed:'), lines.join('\n'));
});

test('exits with 1 when no test ran, and when all were skipped', () => {
  assert.equal(run({}).exitCode, 1);
  assert.equal(run({ tests: [createTestResult('skipped')] }).exitCode, 1);
});

test('names the slowest files of a pass', () => {
  const lines: string[] = [];
  const summary = createSummary({ isStrict: false, print: (line) => void lines.push(line), now: () => 0 });
  const finish = summary.startPass('model', { files: 12, showsEach: false });
  for (let number = 1; number <= 12; number++)
    summary.addFile({ type: 'file', path: `test/${number}.test.ts`, durationMs: number * 1000 });
  finish([]);
  const start = lines.indexOf('  slowest files:');
  assert.deepEqual(
    [lines[start + 1], lines[start + 10]],
    ['     12.0 s  test/12.test.ts', '      3.0 s  test/3.test.ts'],
  );
  assert.equal(lines.length, start + 11);
});

test('counts faults besides failed tests', () => {
  const { exitCode, lines } = run({ tests: [createTestResult('passed')], faults: ['left running: sleep 9'] });
  assert.equal(exitCode, 1);
  assert.equal(lines.at(-1), '1 passed, 1 failed');
});

test('in strict mode, counts a skipped client, model or engine test as failed, and no other', () => {
  const strict = (pass: string, place: string) =>
    run({ isStrict: true, pass, tests: [createTestResult('passed'), createTestResult('skipped', place)] }).lines.at(-1);
  assert.equal(strict('clients', 'test/clients/a.test.ts:1'), '1 passed, 1 failed');
  assert.equal(strict('model', 'test/model/a.test.ts:1'), '1 passed, 1 failed');
  assert.equal(strict('unit', 'test/contracts/engine.test.ts:1'), '1 passed, 1 failed');
  assert.equal(strict('unit', 'test/contracts/store.test.ts:1'), '1 passed, 0 failed');
});

test('counts a test that passed in its second run as passed, and names it with its first error', () => {
  const { exitCode, lines } = run({
    pass: 'process',
    tests: [{ ...createTestResult('passed'), outcome: 'passed', firstDetail: 'beside others' }],
  });
  assert.equal(exitCode, 0);
  assert.equal(lines.at(-1), '1 passed, 0 failed');
  assert.ok(lines.includes('    beside others'), lines.join('\n'));
  assert.ok(lines.includes('flaky, passed in a second run:'), lines.join('\n'));
});
