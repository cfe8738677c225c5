import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSandboxCheck } from './sandbox-check.ts';
import type { SandboxCheckResult } from './sandbox-check.ts';

const TIMED_OUT = { isTimeout: true } as const;
const FAILED = { isTimeout: false } as const;
const PASSED = { value: 'a sandbox' } as const;

/** @param outcomes Results of the attempts in turn; the last one repeats. */
function openCheck(...outcomes: SandboxCheckResult<string>[]) {
  let now = 0;
  let attemptCount = 0;
  const intervals = new Set<() => void>();
  const check = createSandboxCheck({
    attempt: async () => outcomes[attemptCount++] ?? outcomes.at(-1) ?? FAILED,
    pausesMs: [5_000, 30_000],
    clock: { monotonic: () => now },
    startInterval: (_ms, run) => {
      intervals.add(run);
      return () => intervals.delete(run);
    },
  });
  return {
    proof: check,
    tries: () => attemptCount,
    isLooking: () => intervals.size > 0,
    /** Advances the clock and runs all intervals. */
    async pass(ms: number) {
      now += ms;
      for (const look of intervals) look();
      await Promise.resolve();
      await Promise.resolve();
      await Promise.resolve();
    },
  };
}

describe('createSandboxCheck', () => {
  test('makes one attempt if it succeeds', async () => {
    const { proof, tries, isLooking } = openCheck(PASSED);
    assert.equal(tries(), 0);
    assert.deepEqual(await Promise.all([proof.get(), proof.get()]), ['a sandbox', 'a sandbox']);
    assert.deepEqual([tries(), isLooking(), proof.getNextAttemptMs()], [1, false, undefined]);
  });

  test('makes no further attempt after a failure', async () => {
    const { proof, tries, isLooking, pass } = openCheck(FAILED, PASSED);
    assert.equal(await proof.get(), undefined);
    await pass(3_600_000);
    assert.equal(await proof.get(), undefined);
    assert.deepEqual([tries(), isLooking(), proof.getNextAttemptMs()], [1, false, undefined]);
  });

  test('repeats an attempt that timed out, after growing pauses', async () => {
    const { proof, tries, isLooking, pass } = openCheck(TIMED_OUT, TIMED_OUT, PASSED);
    assert.equal(await proof.get(), undefined);
    assert.equal(proof.getNextAttemptMs(), 5_000);
    await pass(4_999);
    assert.equal(await proof.get(), undefined);
    assert.deepEqual([tries(), proof.getNextAttemptMs()], [1, 1]);
    await pass(1);
    assert.deepEqual([tries(), proof.getNextAttemptMs()], [2, 30_000]);
    await pass(30_000);
    assert.deepEqual([tries(), isLooking()], [3, false]);
    assert.equal(await proof.get(), 'a sandbox');
  });

  test('starts a due attempt on demand, shared by all callers', async () => {
    let finishAttempt: (result: SandboxCheckResult<string>) => void = () => undefined;
    let now = 0;
    const check = createSandboxCheck<string>({
      attempt: () => new Promise((resolve) => (finishAttempt = resolve)),
      pausesMs: [5_000],
      clock: { monotonic: () => now },
      startInterval: () => () => undefined,
    });
    const first = check.get();
    assert.equal(check.getNextAttemptMs(), 0);
    finishAttempt(TIMED_OUT);
    assert.equal(await first, undefined);
    now = 5_000;
    const calls = [check.get(), check.get()];
    assert.equal(check.getNextAttemptMs(), 0);
    finishAttempt(PASSED);
    assert.deepEqual(await Promise.all(calls), ['a sandbox', 'a sandbox']);
  });

  test('makes further attempts on demand only after the last pause', async () => {
    const { proof, tries, isLooking, pass } = openCheck(TIMED_OUT);
    await proof.get();
    await pass(5_000);
    assert.equal(proof.waitsForCaller(), false);
    await pass(30_000);
    assert.deepEqual([tries(), isLooking(), proof.waitsForCaller()], [3, false, true]);
    await pass(29_999);
    await proof.get();
    assert.equal(tries(), 3);
    await pass(1);
    assert.equal(tries(), 3);
    await proof.get();
    assert.deepEqual([tries(), proof.waitsForCaller()], [4, true]);
  });

  test('makes no attempt after it is closed', async () => {
    const { proof, tries, isLooking, pass } = openCheck(TIMED_OUT);
    await proof.get();
    await proof.close();
    await pass(5_000);
    assert.equal(await proof.get(), undefined);
    assert.deepEqual([tries(), isLooking(), proof.getNextAttemptMs()], [1, false, undefined]);
  });
});
