import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRoom } from './__fixtures__/scheduler-room.ts';
import type { CallOptions, Heard } from './__fixtures__/scheduler-room.ts';

const RESERVED: CallOptions = { priority: 'reserved' };

const aloneText = async (options: CallOptions): Promise<string> => (await createRoom().run(options)).text();

describe('reserved requests', () => {
  it('get a sequence at once from a live one that has all, which goes on afterwards with the same text', async () => {
    for (const sequences of [1, 3]) {
      const prompts = Array.from({ length: sequences }, (_, at) => `long story ${at}`);
      let reserved: Heard | undefined;
      let decodesOfReserved = 0;
      const room = createRoom({
        sequences,
        onDecode(_items, count) {
          if (count === 20) reserved = room.submit({ ...RESERVED, prompt: 'Hi', maxTokens: 5 });
          if (reserved && reserved.lines.length === 0) decodesOfReserved++;
        },
      });
      const live = await Promise.all(prompts.map((prompt) => room.run({ prompt, maxTokens: 40 })));
      await reserved?.over;
      assert.equal(reserved?.text(), await aloneText({ prompt: 'Hi', maxTokens: 5 }));
      assert.ok(decodesOfReserved <= 3, `it waited for ${decodesOfReserved} ticks`);
      for (const [at, heard] of live.entries()) {
        assert.equal(heard.text(), await aloneText({ prompt: prompts[at] ?? '', maxTokens: 40 }));
        assert.equal(heard.finished().counts.completionTokens, 40);
        assert.equal(heard.lines.filter(({ type }) => type === 'started').length, 1);
      }
      assert.equal(room.scheduler.health().busySequences, 0);
      assert.equal(room.model.samplersAlive, 0);
    }
  });

  it('all go before the live run that was set aside for the first of them', async () => {
    const order: string[] = [];
    const reserved: Promise<unknown>[] = [];
    const room = createRoom({
      sequences: 1,
      onDecode(_items, count) {
        if (count !== 20) return;
        for (const prompt of ['one', 'two'])
          reserved.push(room.run({ ...RESERVED, prompt, maxTokens: 20 }).then(() => order.push(prompt)));
      },
    });
    const heard = await room.run({ prompt: 'a long story', maxTokens: 40 });
    order.push('live');
    await Promise.all(reserved);
    assert.deepEqual(order, ['one', 'two', 'live']);
    assert.equal(heard.text(), await aloneText({ prompt: 'a long story', maxTokens: 40 }));
  });

  it('leave the live run beside a background one alone', async () => {
    let reserved: Heard | undefined;
    const order: string[] = [];
    const room = createRoom({
      sequences: 2,
      onDecode(_items, count) {
        if (count === 20) reserved = room.submit({ ...RESERVED, prompt: 'Hi', maxTokens: 60 });
      },
    });
    const runs = [
      room.run({ prompt: 'a live story', maxTokens: 60 }).then(() => order.push('live')),
      room.run({ priority: 'background', prompt: 'another story', maxTokens: 60 }).then(() => order.push('background')),
    ];
    await Promise.all(runs);
    await reserved?.over;
    assert.deepEqual(order, ['live', 'background']);
  });
});
