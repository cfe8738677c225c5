import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRoom } from './__fixtures__/scheduler-room.ts';
import type { Heard, Room } from './__fixtures__/scheduler-room.ts';

/** Tokens that were evaluated. */
const evaluated = (room: Room): number => room.model.decodes.flat().reduce((sum, item) => sum + item.tokens.length, 0);

describe('a prefix', () => {
  it('is reused within its workspace, and cachedTokens says how much was', async () => {
    const room = createRoom();
    const prompt = 'x'.repeat(100);
    const first = await room.run({ prompt, maxTokens: 5 });
    assert.equal(first.started().cachedTokens, 0);
    const before = evaluated(room);
    const again = await room.run({ prompt: `${prompt}yy`, maxTokens: 1 });
    assert.equal(again.started().cachedTokens, 100);
    assert.equal(again.finished().counts.cachedTokens, 100);
    assert.equal(evaluated(room) - before, 2);
  });

  it('is never all of a prompt: the last token is evaluated for its logits', async () => {
    const room = createRoom();
    const first = await room.run({ prompt: 'the same', maxTokens: 5 });
    const again = await room.run({ prompt: 'the same', maxTokens: 5 });
    assert.equal(again.started().cachedTokens, 'the same'.length - 1);
    assert.equal(again.text(), first.text());
  });

  it('is not reused by another workspace', async () => {
    const room = createRoom({ sequences: 1 });
    const prompt = 'x'.repeat(100);
    await room.run({ prompt, workspace: 'a', maxTokens: 1 });
    const other = await room.run({ prompt, workspace: 'b', maxTokens: 1 });
    assert.equal(other.started().cachedTokens, 0);
    const back = await room.run({ prompt, workspace: 'a', maxTokens: 1 });
    assert.equal(back.started().cachedTokens, 0);
  });

  it('is copied from a sequence that is busy', async () => {
    const prompt = 'x'.repeat(100);
    let second: Promise<Heard> | undefined;
    const room = createRoom({
      onDecode: (items) => {
        if (items.some((item) => item.at > 105)) second ??= room.run({ prompt: `${prompt}b`, maxTokens: 3 });
      },
    });
    await room.run({ prompt, maxTokens: 30 });
    const heard = await second;
    assert.equal(heard?.started().cachedTokens, 100);
    assert.equal(room.model.copies.length, 1);
    const alone = await createRoom().run({ prompt: `${prompt}b`, maxTokens: 3 });
    assert.equal(heard?.text(), alone.text());
  });

  it('is evaluated again by a model that cannot forget a tail', async () => {
    const room = createRoom({ sequences: 1, canTruncate: false });
    const first = await room.run({ prompt: 'the same', maxTokens: 5 });
    const again = await room.run({ prompt: 'the same', maxTokens: 5 });
    assert.equal(again.started().cachedTokens, 0);
    assert.equal(again.text(), first.text());
  });
});

describe('a seeded run', () => {
  const seeded = { sampling: { seed: 7 } };
  /** Items of the run, told from the others' by its prompt's length. */
  const batchesOf = (room: Room, sequence: number) =>
    room.model.decodes.filter((items) => items.some((item) => item.sequence === sequence));

  it('is evaluated alone in its batches, its prompt in slices of 16', async () => {
    const room = createRoom();
    const others = [room.submit({ prompt: 'ab', maxTokens: 40 }), room.submit({ prompt: 'cd', maxTokens: 40 })];
    const heard = await room.run({ ...seeded, prompt: 'x'.repeat(40), maxTokens: 8 });
    await Promise.all(others.map((other) => other.over));
    const batches = batchesOf(room, 2);
    assert.ok(batches.every((items) => items.length === 1));
    assert.deepEqual(
      batches.map(([item]) => item?.tokens.length),
      [16, 16, 8, ...Array.from({ length: 7 }, () => 1)],
    );
    const alone = await createRoom().run({ ...seeded, prompt: 'x'.repeat(40), maxTokens: 8 });
    assert.equal(heard.text(), alone.text());
  });

  it('gives the same text again, and another seed another', async () => {
    const room = createRoom();
    const a = await room.run({ ...seeded, maxTokens: 20 });
    const b = await room.run({ ...seeded, maxTokens: 20 });
    const c = await room.run({ sampling: { seed: 8 }, maxTokens: 20 });
    assert.equal(a.text(), b.text());
    assert.notEqual(a.text(), c.text());
  });

  it('reuses only whole slices that a seeded run evaluated', async () => {
    const room = createRoom();
    const prompt = 'x'.repeat(100);
    await room.run({ prompt, maxTokens: 1 });
    const first = await room.run({ ...seeded, prompt, maxTokens: 1 });
    assert.equal(first.started().cachedTokens, 0, 'cells of a mixed batch');
    const second = await room.run({ ...seeded, prompt: `${prompt}y`, maxTokens: 1 });
    assert.equal(second.started().cachedTokens, 96);
    const unseeded = await room.run({ prompt: `${prompt}z`, maxTokens: 1 });
    assert.equal(unseeded.started().cachedTokens, 100);
  });

  it('does not reuse what an unseeded run wrote over', async () => {
    const room = createRoom({ sequences: 1 });
    await room.run({ ...seeded, prompt: 'x'.repeat(64), maxTokens: 1 });
    await room.run({ prompt: 'x'.repeat(40) + 'y'.repeat(24), maxTokens: 1 });
    const heard = await room.run({ ...seeded, prompt: 'x'.repeat(40) + 'y'.repeat(24), maxTokens: 1 });
    assert.equal(heard.started().cachedTokens, 32);
  });

  it('with several choices gives choice i the text of seed + i', async () => {
    const room = createRoom();
    const both = await room.run({ ...seeded, choices: 2, maxTokens: 10 });
    const second = await room.run({ sampling: { seed: 8 }, maxTokens: 10 });
    assert.equal(both.text(1), second.text());
  });
});
