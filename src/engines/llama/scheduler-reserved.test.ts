import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTestScheduler, type TestCallOptions, type TestRequest } from './__fixtures__/test-scheduler.ts';

const RESERVED: TestCallOptions = { priority: 'reserved' };

const runAlone = async (options: TestCallOptions): Promise<string> =>
  (await createTestScheduler().run(options)).getText();

describe('createScheduler: reserved requests', () => {
  it('preempt a live request that uses all sequences, which later resumes with the same text', async () => {
    for (const sequences of [1, 3]) {
      const prompts = Array.from({ length: sequences }, (_, at) => `long story ${at}`);
      let reserved: TestRequest | undefined;
      let decodesBeforeReserved = 0;
      const setup = createTestScheduler({
        sequences,
        onDecode(_items, count) {
          if (count === 20) reserved = setup.submit({ ...RESERVED, prompt: 'Hi', maxTokens: 5 });
          if (reserved && reserved.lines.length === 0) decodesBeforeReserved++;
        },
      });
      const live = await Promise.all(prompts.map((prompt) => setup.run({ prompt, maxTokens: 40 })));
      await reserved?.closed;
      assert.equal(reserved?.getText(), await runAlone({ prompt: 'Hi', maxTokens: 5 }));
      assert.ok(decodesBeforeReserved <= 3, `it waited for ${decodesBeforeReserved} ticks`);
      for (const [at, request] of live.entries()) {
        assert.equal(request.getText(), await runAlone({ prompt: prompts[at] ?? '', maxTokens: 40 }));
        assert.equal(request.getFinished().counts.completionTokens, 40);
        assert.equal(request.lines.filter(({ type }) => type === 'started').length, 1);
      }
      assert.equal(setup.scheduler.health().busySequences, 0);
      assert.equal(setup.model.activeSamplers, 0);
    }
  });

  it('all run before the live request that was preempted for the first of them', async () => {
    const order: string[] = [];
    const reserved: Promise<unknown>[] = [];
    const setup = createTestScheduler({
      sequences: 1,
      onDecode(_items, count) {
        if (count !== 20) return;
        for (const prompt of ['one', 'two'])
          reserved.push(setup.run({ ...RESERVED, prompt, maxTokens: 20 }).then(() => order.push(prompt)));
      },
    });
    const request = await setup.run({ prompt: 'a long story', maxTokens: 40 });
    order.push('live');
    await Promise.all(reserved);
    assert.deepEqual(order, ['one', 'two', 'live']);
    assert.equal(request.getText(), await runAlone({ prompt: 'a long story', maxTokens: 40 }));
  });

  it('preempt a background request rather than a live one', async () => {
    let reserved: TestRequest | undefined;
    const order: string[] = [];
    const setup = createTestScheduler({
      sequences: 2,
      onDecode(_items, count) {
        if (count === 20) reserved = setup.submit({ ...RESERVED, prompt: 'Hi', maxTokens: 60 });
      },
    });
    const runs = [
      setup.run({ prompt: 'a live story', maxTokens: 60 }).then(() => order.push('live')),
      setup
        .run({ priority: 'background', prompt: 'another story', maxTokens: 60 })
        .then(() => order.push('background')),
    ];
    await Promise.all(runs);
    await reserved?.closed;
    assert.deepEqual(order, ['live', 'background']);
  });
});
