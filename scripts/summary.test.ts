import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UnsteadyTest } from './second-run.ts';
import { createSummary } from './summary.ts';
import type { FinishedTest } from './test-pass.ts';

const finished = (outcome: FinishedTest['outcome'], place = 'src/a.test.ts:1'): FinishedTest => ({
  type: 'test',
  outcome,
  name: `a ${outcome} one`,
  place,
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
  tests?: readonly (FinishedTest | UnsteadyTest)[];
  faults?: readonly string[];
}) => {
  const lines: string[] = [];
  const summary = createSummary({ isStrict, print: (line) => void lines.push(...line.split('\n')), now: () => 0 });
  const finish = summary.begin(pass, { files: 1, showsEach: false });
  for (const one of tests) summary.test(one);
  finish(faults);
  return { exitCode: summary.close(), lines };
};

test('closes with one plain line that counts skips as neither', () => {
  const { exitCode, lines } = run({ tests: [finished('passed'), finished('passed'), finished('skipped')] });
  assert.equal(exitCode, 0);
  assert.equal(lines.at(-1), '2 passed, 0 failed');
  assert.equal(lines.filter((line) => /^\d+ passed, \d+ failed$/.test(line)).length, 1);
  assert.ok(lines.includes('    a skipped one (src/a.test.ts:1): because'), lines.join('\n'));
});

test('fails when a test failed, and names it at the end', () => {
  const { exitCode, lines } = run({ tests: [finished('passed'), finished('failed')] });
  assert.equal(exitCode, 1);
  assert.equal(lines.at(-1), '1 passed, 1 failed');
  assert.ok(lines.lastIndexOf('    a failed one (src/a.test.ts:1)') > lines.indexOf('failed:'), lines.join('\n'));
});

test('fails when no test was run, and when all were skipped', () => {
  assert.equal(run({}).exitCode, 1);
  assert.equal(run({ tests: [finished('skipped')] }).exitCode, 1);
});

test('counts what went wrong besides tests', () => {
  const { exitCode, lines } = run({ tests: [finished('passed')], faults: ['left running: sleep 9'] });
  assert.equal(exitCode, 1);
  assert.equal(lines.at(-1), '1 passed, 1 failed');
});

test('where everything must run, a skipped client, model or engine test has failed, and no other', () => {
  const strict = (pass: string, place: string) =>
    run({ isStrict: true, pass, tests: [finished('passed'), finished('skipped', place)] }).lines.at(-1);
  assert.equal(strict('clients', 'test/clients/a.test.ts:1'), '1 passed, 1 failed');
  assert.equal(strict('model', 'test/model/a.test.ts:1'), '1 passed, 1 failed');
  assert.equal(strict('unit', 'test/contracts/engine.test.ts:1'), '1 passed, 1 failed');
  assert.equal(strict('unit', 'test/contracts/store.test.ts:1'), '1 passed, 0 failed');
});

test('one that passed in its second run is passed, and named with what it failed for', () => {
  const { exitCode, lines } = run({
    pass: 'process',
    tests: [{ ...finished('passed'), outcome: 'passed', firstDetail: 'beside others' }],
  });
  assert.equal(exitCode, 0);
  assert.equal(lines.at(-1), '1 passed, 0 failed');
  assert.ok(lines.includes('    beside others'), lines.join('\n'));
  assert.ok(lines.includes('unsteady, passed in a second run:'), lines.join('\n'));
});
