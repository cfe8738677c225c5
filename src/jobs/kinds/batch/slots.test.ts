import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSlots } from './slots.ts';

const never = new AbortController().signal;

/** What has happened by then to those who need not wait for anything else. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('slots', () => {
  it('are as many as there are, and the next is of who waits longest', async () => {
    const slots = createSlots(2);
    const order: string[] = [];
    const back: (() => void)[] = [];
    const work = ['a', 'b', 'c', 'd'].map(async (name) => {
      back.push(await slots.take(never));
      order.push(name);
    });
    await turn();
    assert.deepEqual(order, ['a', 'b']);
    back[1]?.();
    await turn();
    assert.deepEqual(order, ['a', 'b', 'c']);
    back[0]?.();
    await Promise.all(work);
    assert.deepEqual(order, ['a', 'b', 'c', 'd']);
  });

  it('are given back once, whoever says it twice', async () => {
    const slots = createSlots(1);
    const giveBack = await slots.take(never);
    giveBack();
    giveBack();
    await slots.take(never);
    let isTaken = false;
    void slots.take(never).then(() => (isTaken = true));
    await turn();
    assert.equal(isTaken, false);
  });

  it('are not kept for who does not wait any more', async () => {
    const slots = createSlots(1);
    const giveBack = await slots.take(never);
    const caller = new AbortController();
    const [gone, next] = [slots.take(caller.signal), slots.take(never)];
    caller.abort(new Error('gone'));
    await assert.rejects(gone, /gone/);
    giveBack();
    await next;
    await assert.rejects(slots.take(caller.signal), /gone/);
  });
});
