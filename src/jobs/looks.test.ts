import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLooks } from './looks.ts';

describe('looks', () => {
  it('are one at a time, and one more for all who asked meanwhile', async () => {
    const waiting: (() => void)[] = [];
    const looks = createLooks(() => new Promise((resolve) => void waiting.push(resolve)));
    for (let count = 0; count < 3; count += 1) looks.ring();
    assert.equal(waiting.length, 1);
    looks.ring();
    waiting[0]?.();
    await Promise.resolve();
    await Promise.resolve();
    assert.equal(waiting.length, 2);
    const idle = looks.idle();
    waiting[1]?.();
    await idle;
    assert.equal(waiting.length, 2);
    looks.ring();
    assert.equal(waiting.length, 3);
  });

  it('are over when nobody has asked', async () => {
    await createLooks(() => assert.fail('nobody has asked')).idle();
  });
});
