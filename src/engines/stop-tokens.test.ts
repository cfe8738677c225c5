import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { releaseHeldTokens } from './stop-tokens.ts';

const STOPS = [
  [1, 2, 3],
  [2, 4],
];

/** Adds one token after the other. @returns the ids released at each, and the ids held at the end. */
function feed(...ids: number[]) {
  const held: { id: number }[] = [];
  const steps = ids.map((id) => {
    held.push({ id });
    const { released, isStopped } = releaseHeldTokens(held, STOPS);
    return { ids: released.map((token) => token.id), isStopped };
  });
  return { steps, held: held.map(({ id }) => id) };
}

describe('releaseHeldTokens', () => {
  it('releases a token that begins no stop sequence at once', () => {
    assert.deepEqual(feed(9), { steps: [{ ids: [9], isStopped: false }], held: [] });
  });

  it('holds the beginning of a stop sequence back', () => {
    const { steps, held } = feed(9, 1, 2);
    assert.deepEqual(
      steps.map(({ ids }) => ids),
      [[9], [], []],
    );
    assert.deepEqual(held, [1, 2]);
  });

  it('releases only what can no longer begin a stop sequence', () => {
    const { steps, held } = feed(1, 1);
    assert.deepEqual(steps.at(-1), { ids: [1], isStopped: false });
    assert.deepEqual(held, [1]);
  });

  it('removes a stop sequence and releases the tokens before it', () => {
    const { steps, held } = feed(1, 2, 4);
    assert.deepEqual(steps.at(-1), { ids: [1], isStopped: true });
    assert.deepEqual(held, []);
  });

  it('releases everything when there is no stop sequence', () => {
    const held = [{ id: 1 }, { id: 2 }];
    assert.deepEqual(releaseHeldTokens(held, []), { released: [{ id: 1 }, { id: 2 }], isStopped: false });
    assert.deepEqual(held, []);
  });
});
