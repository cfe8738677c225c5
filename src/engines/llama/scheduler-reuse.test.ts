import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTestScheduler, type TestRequest, type TestScheduler } from './__fixtures__/test-scheduler.ts';

/** Counts the tokens that were evaluated. */
const evaluated = (setup: TestScheduler): number =>
  setup.model.decodes.flat().reduce((sum, item) => sum + item.tokens.length, 0);

describe('createScheduler: prefix reuse', () => {
  it('reuses a prefix within its workspace, and reports cachedTokens', async () => {
    const setup = createTestScheduler();
    const prompt = 'x'.repeat(100);
    const first = await setup.run({ prompt, maxTokens: 5 });
    assert.equal(first.getStarted().cachedTokens, 0);
    const before = evaluated(setup);
    const again = await setup.run({ prompt: `${prompt}yy`, maxTokens: 1 });
    assert.equal(again.getStarted().cachedTokens, 100);
    assert.equal(again.getFinished().counts.cachedTokens, 100);
    assert.equal(evaluated(setup) - before, 2);
  });

  it('evaluates at least the last token of a prompt, for its logits', async () => {
    const setup = createTestScheduler();
    const first = await setup.run({ prompt: 'the same', maxTokens: 5 });
    const again = await setup.run({ prompt: 'the same', maxTokens: 5 });
    assert.equal(again.getStarted().cachedTokens, 'the same'.length - 1);
    assert.equal(again.getText(), first.getText());
  });

  it('does not reuse a prefix of another workspace', async () => {
    const setup = createTestScheduler({ sequences: 1 });
    const prompt = 'x'.repeat(100);
    await setup.run({ prompt, workspace: 'a', maxTokens: 1 });
    const other = await setup.run({ prompt, workspace: 'b', maxTokens: 1 });
    assert.equal(other.getStarted().cachedTokens, 0);
    const back = await setup.run({ prompt, workspace: 'a', maxTokens: 1 });
    assert.equal(back.getStarted().cachedTokens, 0);
  });

  it('copies a prefix from a busy sequence', async () => {
    const prompt = 'x'.repeat(100);
    let second: Promise<TestRequest> | undefined;
    const setup = createTestScheduler({
      onDecode: (items) => {
        if (items.some((item) => item.position > 105)) second ??= setup.run({ prompt: `${prompt}b`, maxTokens: 3 });
      },
    });
    await setup.run({ prompt, maxTokens: 30 });
    const request = await second;
    assert.equal(request?.getStarted().cachedTokens, 100);
    assert.equal(setup.model.copies.length, 1);
    const alone = await createTestScheduler().run({ prompt: `${prompt}b`, maxTokens: 3 });
    assert.equal(request?.getText(), alone.getText());
  });

  it('evaluates the prefix again if the model cannot truncate', async () => {
    const setup = createTestScheduler({ sequences: 1, canTruncate: false });
    const first = await setup.run({ prompt: 'the same', maxTokens: 5 });
    const again = await setup.run({ prompt: 'the same', maxTokens: 5 });
    assert.equal(again.getStarted().cachedTokens, 0);
    assert.equal(again.getText(), first.getText());
  });
});

describe('createScheduler: seeded runs', () => {
  const seeded = { sampling: { seed: 7 } };
  /** Batches that contain the sequence. */
  const collectBatches = (setup: TestScheduler, sequence: number) =>
    setup.model.decodes.filter((items) => items.some((item) => item.sequence === sequence));

  it('are evaluated alone in their batches, with the prompt in slices of 16', async () => {
    const setup = createTestScheduler();
    const others = [setup.submit({ prompt: 'ab', maxTokens: 40 }), setup.submit({ prompt: 'cd', maxTokens: 40 })];
    const request = await setup.run({ ...seeded, prompt: 'x'.repeat(40), maxTokens: 8 });
    await Promise.all(others.map((other) => other.closed));
    const batches = collectBatches(setup, 2);
    assert.ok(batches.every((items) => items.length === 1));
    assert.deepEqual(
      batches.map(([item]) => item?.tokens.length),
      [16, 16, 8, ...Array.from({ length: 7 }, () => 1)],
    );
    const alone = await createTestScheduler().run({ ...seeded, prompt: 'x'.repeat(40), maxTokens: 8 });
    assert.equal(request.getText(), alone.getText());
  });

  it('give the same text again, and another text for another seed', async () => {
    const setup = createTestScheduler();
    const a = await setup.run({ ...seeded, maxTokens: 20 });
    const b = await setup.run({ ...seeded, maxTokens: 20 });
    const c = await setup.run({ sampling: { seed: 8 }, maxTokens: 20 });
    assert.equal(a.getText(), b.getText());
    assert.notEqual(a.getText(), c.getText());
  });

  it('reuse only whole slices that a seeded run evaluated', async () => {
    const setup = createTestScheduler();
    const prompt = 'x'.repeat(100);
    await setup.run({ prompt, maxTokens: 1 });
    const first = await setup.run({ ...seeded, prompt, maxTokens: 1 });
    assert.equal(first.getStarted().cachedTokens, 0, 'cells of a mixed batch');
    const second = await setup.run({ ...seeded, prompt: `${prompt}y`, maxTokens: 1 });
    assert.equal(second.getStarted().cachedTokens, 96);
    const unseeded = await setup.run({ prompt: `${prompt}z`, maxTokens: 1 });
    assert.equal(unseeded.getStarted().cachedTokens, 100);
  });

  it('do not reuse tokens that an unseeded run overwrote', async () => {
    const setup = createTestScheduler({ sequences: 1 });
    await setup.run({ ...seeded, prompt: 'x'.repeat(64), maxTokens: 1 });
    await setup.run({ prompt: 'x'.repeat(40) + 'y'.repeat(24), maxTokens: 1 });
    const request = await setup.run({ ...seeded, prompt: 'x'.repeat(40) + 'y'.repeat(24), maxTokens: 1 });
    assert.equal(request.getStarted().cachedTokens, 32);
  });

  it('gives choice i of a request the text of seed + i', async () => {
    const setup = createTestScheduler();
    const both = await setup.run({ ...seeded, choices: 2, maxTokens: 10 });
    const second = await setup.run({ sampling: { seed: 8 }, maxTokens: 10 });
    assert.equal(both.getText(1), second.getText());
  });
});
