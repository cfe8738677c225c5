import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createProof } from './proof.ts';
import type { Tried } from './proof.ts';

const LATE = { isLate: true } as const;
const BROKEN = { isLate: false } as const;
const HELD = { held: 'a sandbox' } as const;

/** @param outcomes Of the tries, in turn; the last of all others. */
function open(...outcomes: Tried<string>[]) {
  let now = 0;
  let tries = 0;
  const looks = new Set<() => void>();
  const proof = createProof({
    attempt: async () => outcomes[tries++] ?? outcomes.at(-1) ?? BROKEN,
    pausesMs: [5_000, 30_000],
    clock: { monotonic: () => now },
    every: (_ms, run) => {
      looks.add(run);
      return () => looks.delete(run);
    },
  });
  return {
    proof,
    tries: () => tries,
    isLooking: () => looks.size > 0,
    /** As much later, and whoever looks has looked. */
    async pass(ms: number) {
      now += ms;
      for (const look of looks) look();
      await Promise.resolve();
      await Promise.resolve();
      await Promise.resolve();
    },
  };
}

describe('what has to be tried before it is used', () => {
  test('is tried once, where it holds', async () => {
    const { proof, tries, isLooking } = open(HELD);
    assert.equal(tries(), 0);
    assert.deepEqual(await Promise.all([proof.get(), proof.get()]), ['a sandbox', 'a sandbox']);
    assert.deepEqual([tries(), isLooking(), proof.nextInMs()], [1, false, undefined]);
  });

  test('is never tried again where it does not hold', async () => {
    const { proof, tries, isLooking, pass } = open(BROKEN, HELD);
    assert.equal(await proof.get(), undefined);
    await pass(3_600_000);
    assert.equal(await proof.get(), undefined);
    assert.deepEqual([tries(), isLooking(), proof.nextInMs()], [1, false, undefined]);
  });

  test('is tried again by itself where it took too long, later each time', async () => {
    const { proof, tries, isLooking, pass } = open(LATE, LATE, HELD);
    assert.equal(await proof.get(), undefined);
    assert.equal(proof.nextInMs(), 5_000);
    await pass(4_999);
    assert.equal(await proof.get(), undefined);
    assert.deepEqual([tries(), proof.nextInMs()], [1, 1]);
    await pass(1);
    assert.deepEqual([tries(), proof.nextInMs()], [2, 30_000]);
    await pass(30_000);
    assert.deepEqual([tries(), isLooking()], [3, false]);
    assert.equal(await proof.get(), 'a sandbox');
  });

  test('is tried for whoever asks when it is time, and all of them wait for that', async () => {
    let end: (tried: Tried<string>) => void = () => undefined;
    let now = 0;
    const proof = createProof<string>({
      attempt: () => new Promise((resolve) => (end = resolve)),
      pausesMs: [5_000],
      clock: { monotonic: () => now },
      every: () => () => undefined,
    });
    const first = proof.get();
    assert.equal(proof.nextInMs(), 0);
    end(LATE);
    assert.equal(await first, undefined);
    now = 5_000;
    const asked = [proof.get(), proof.get()];
    assert.equal(proof.nextInMs(), 0);
    end(HELD);
    assert.deepEqual(await Promise.all(asked), ['a sandbox', 'a sandbox']);
  });

  test('waits for somebody to ask after a few tries, and no longer than the last pause', async () => {
    const { proof, tries, isLooking, pass } = open(LATE);
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

  test('is not tried any more when it is closed', async () => {
    const { proof, tries, isLooking, pass } = open(LATE);
    await proof.get();
    await proof.close();
    await pass(5_000);
    assert.equal(await proof.get(), undefined);
    assert.deepEqual([tries(), isLooking(), proof.nextInMs()], [1, false, undefined]);
  });
});
