import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LIVE_EXPECTED_MS } from '../../core/limits.ts';
import { createRoom } from './__fixtures__/scheduler-room.ts';
import type { CallOptions, Heard } from './__fixtures__/scheduler-room.ts';

const BEHIND: CallOptions = { priority: 'background' };

/** A clock that is set by hand. */
function createHandClock() {
  let now = 0;
  return { clock: { now: () => now, monotonic: () => now }, pass: (ms: number) => void (now += ms) };
}

const aloneText = async (options: CallOptions): Promise<string> => (await createRoom().run(options)).text();

describe('background requests', () => {
  it('have all sequences while no live request is there', async () => {
    let most = 0;
    const room = createRoom({ sequences: 3, onDecode: (items) => void (most = Math.max(most, items.length)) });
    const all = await Promise.all(['a', 'b', 'c'].map((prompt) => room.run({ ...BEHIND, prompt, maxTokens: 20 })));
    assert.equal(most, 3);
    for (const heard of all) assert.equal(heard.text().length, 20);
  });

  it('leave one free for a while after a live request, and take it again later', async () => {
    const { clock, pass } = createHandClock();
    const busy: number[] = [];
    const room = createRoom({
      sequences: 2,
      clock,
      onDecode(_items, count) {
        busy.push(room.scheduler.health().busySequences);
        if (count === 40) pass(LIVE_EXPECTED_MS);
      },
    });
    await room.run({ maxTokens: 2 });
    const from = busy.length;
    await Promise.all(['a', 'b'].map((prompt) => room.run({ ...BEHIND, prompt, maxTokens: 60 })));
    assert.deepEqual(new Set(busy.slice(from, 40)), new Set([1]));
    assert.equal(busy[42], 2);
  });

  it('give a sequence to a live request that comes, and go on afterwards with the same text', async () => {
    for (const sequences of [1, 3]) {
      const prompts = Array.from({ length: sequences }, (_, at) => `long story ${at}`);
      let live: Heard | undefined;
      let decodesOfLive = 0;
      const room = createRoom({
        sequences,
        onDecode(_items, count) {
          if (count === 20) live = room.submit({ prompt: 'Hi', maxTokens: 5 });
          if (live && live.lines.length === 0) decodesOfLive++;
        },
      });
      const behind = await Promise.all(prompts.map((prompt) => room.run({ ...BEHIND, prompt, maxTokens: 40 })));
      await live?.over;
      assert.equal(live?.text(), await aloneText({ prompt: 'Hi', maxTokens: 5 }));
      assert.ok(decodesOfLive <= 3, `it waited for ${decodesOfLive} ticks`);
      for (const [at, heard] of behind.entries()) {
        assert.equal(heard.text(), await aloneText({ prompt: prompts[at] ?? '', maxTokens: 40 }));
        assert.equal(heard.finished().counts.completionTokens, 40);
        assert.equal(heard.lines.filter(({ type }) => type === 'started').length, 1);
      }
      assert.equal(room.scheduler.health().busySequences, 0);
      assert.equal(room.model.samplersAlive, 0);
    }
  });

  it('that are set aside in the middle of their prompt finish it later', async () => {
    let live: Heard | undefined;
    const room = createRoom({
      sequences: 1,
      batchTokensMax: 16,
      onDecode(_items, count) {
        if (count === 3) live = room.submit({ prompt: 'Hi', maxTokens: 5 });
      },
    });
    const long = { prompt: 'x'.repeat(200), maxTokens: 5 };
    const behind = await room.run({ ...BEHIND, ...long });
    assert.equal(behind.text(), await aloneText(long));
    assert.equal(live?.text(), await aloneText({ prompt: 'Hi', maxTokens: 5 }));
  });

  it('that are set aside can be cancelled, and nothing of them is left', async () => {
    const came = Promise.withResolvers<Heard>();
    const room = createRoom({
      sequences: 1,
      onDecode(_items, count) {
        if (count === 5) came.resolve(room.submit({ prompt: 'Hi', maxTokens: 20 }));
        if (count === 12) behind.running.cancel();
      },
    });
    const behind: Heard = room.submit({ ...BEHIND, maxTokens: 400 });
    const live = await came.promise;
    await live.over;
    await room.idle();
    assert.equal(live.text().length, 20);
    assert.ok(behind.lines.every(({ type }) => type !== 'finished'));
    assert.equal(room.model.samplersAlive, 0);
    assert.equal(room.scheduler.health().busySequences, 0);
  });

  it('with a seed are not set aside, as their text would change, and so leave a sequence free from the start', async () => {
    let most = 0;
    const room = createRoom({
      sequences: 2,
      onDecode: () => void (most = Math.max(most, room.scheduler.health().busySequences)),
    });
    const seeded = { ...BEHIND, sampling: { seed: 4 }, maxTokens: 20 };
    await Promise.all([room.run(seeded), room.run(seeded)]);
    assert.equal(most, 1);
    // With one sequence there is none to leave.
    const single = createRoom({ sequences: 1 });
    assert.equal((await single.run(seeded)).text().length, 20);
  });

  it('that want all sequences get them when nothing else runs', async () => {
    const room = createRoom({ sequences: 2 });
    const heard = await room.run({ ...BEHIND, choices: 2, maxTokens: 5 });
    assert.deepEqual([heard.text(0).length, heard.text(1).length], [5, 5]);
  });

  it('go behind live ones that came later, and never take a place in the queue from them', async () => {
    const order: string[] = [];
    const room = createRoom({ sequences: 1, queuePlacesMax: 4 });
    const submit = (name: string, options: CallOptions): Heard => {
      const heard = room.submit({ ...options, maxTokens: 3 });
      void heard.over.then(() => order.push(heard.refusal ? `${name}: ${heard.refusal.kind}` : name));
      return heard;
    };
    const all = [
      submit('running', { key: 'x' }),
      submit('behind 1', { ...BEHIND, key: 'a' }),
      submit('behind 2', { ...BEHIND, key: 'b' }),
      submit('behind 3', { ...BEHIND, key: 'c' }),
      ...['a', 'b', 'c', 'd'].map((key) => submit(`live ${key}`, { key })),
    ];
    await Promise.all(all.map(({ over }) => over));
    assert.deepEqual(order, [
      'behind 3: queue-full',
      'running',
      'live a',
      'live b',
      'live c',
      'live d',
      'behind 1',
      'behind 2',
    ]);
  });

  it('are not kept waiting by a live reader who reads nothing', async () => {
    const room = createRoom({
      sequences: 2,
      onDecode(_items, count) {
        if (count === 3) live.isReading = false;
      },
    });
    const live: Heard = room.submit({ maxTokens: 30 });
    const behind = await room.run({ ...BEHIND, prompt: 'another', maxTokens: 40 });
    assert.equal(behind.text().length, 40);
    live.isReading = true;
    live.running.resume();
    await live.over;
    assert.equal(live.text().length, 30);
  });
});
