import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WorkerBusyError } from '../fair-worker.ts';
import { createRoom } from './__fixtures__/scheduler-room.ts';
import type { Heard } from './__fixtures__/scheduler-room.ts';

/** A clock that moves only when something is evaluated. */
function createPricedClock(msPerToken: number) {
  let now = 0;
  return {
    clock: { now: () => now, monotonic: () => now },
    pay: (items: readonly { tokens: readonly number[] }[]): number => {
      const ms = items.reduce((sum, item) => sum + item.tokens.length, 0) * msPerToken;
      now += ms;
      return ms;
    },
  };
}

describe('a tick', () => {
  it('evaluates all streams in one batch', async () => {
    const room = createRoom({ sequences: 3 });
    const all = await Promise.all(['one', 'two', 'six'].map((prompt) => room.run({ prompt, maxTokens: 10 })));
    for (const heard of all) assert.equal(heard.text().length, 10);
    const steps = room.model.decodes.filter((items) => items.every((item) => item.tokens.length === 1));
    assert.ok(steps.length >= 9);
    // Slices of the prompts may let one begin a tick before the others: only then a batch is not full.
    assert.ok(steps.filter((items) => items.length === 3).length >= steps.length - 2);
    assert.equal(room.model.samplersAlive, 0);
  });

  it("gives everybody their step while a newcomer's long prompt is evaluated, in slices of at most 250 ms", async () => {
    const { clock, pay } = createPricedClock(5);
    const costs: number[] = [];
    let newcomer: Heard | undefined;
    const room = createRoom({
      clock,
      contextTokens: 1024,
      onDecode(items, count) {
        costs.push(pay(items));
        if (count === 20) newcomer = room.submit({ prompt: 'x'.repeat(800), maxTokens: 2 });
      },
    });
    const others = [room.submit({ prompt: 'ab', maxTokens: 100 }), room.submit({ prompt: 'cd', maxTokens: 100 })];
    await Promise.all(others.map((heard) => heard.over));
    await newcomer?.over;
    assert.equal(newcomer?.text().length, 2);
    const during = room.model.decodes.slice(20).filter((items) => items.some((item) => item.tokens.length > 1));
    assert.ok(during.length > 10, 'the prompt came in slices');
    for (const items of during) assert.equal(items.filter((item) => item.tokens.length === 1).length, 2);
    assert.ok(Math.max(...costs) <= 250, `a tick took ${Math.max(...costs)} ms`);
  });

  it('lets two long prompts advance by turns', async () => {
    const room = createRoom({ sequences: 2, batchTokensMax: 16 });
    const [a, b] = await Promise.all([
      room.run({ prompt: 'a'.repeat(200), maxTokens: 1 }),
      room.run({ prompt: 'b'.repeat(200), maxTokens: 1 }),
    ]);
    assert.equal(a.text().length + b.text().length, 2);
    const order = room.model.decodes.map((items) => items[0]?.sequence);
    assert.ok(order.slice(0, 6).includes(0) && order.slice(0, 6).includes(1));
  });

  it('ends a cancelled request at the end of the running tick', async () => {
    const room = createRoom({
      onDecode: (_items, count) => {
        if (count === 5) heard.running.cancel();
      },
    });
    const heard: Heard = room.submit();
    await room.idle();
    assert.equal(room.model.decodes.length, 5);
    assert.equal(room.scheduler.health().busySequences, 0);
    assert.equal(room.model.samplersAlive, 0);
    assert.ok(heard.lines.every((line) => line.type !== 'finished'));
  });

  it('ends a request that is cancelled in the middle of its long prompt after the running slice', async () => {
    const room = createRoom({
      onDecode: (_items, count) => {
        if (count === 2) heard.running.cancel();
      },
    });
    const heard: Heard = room.submit({ prompt: 'x'.repeat(400) });
    await room.idle();
    assert.equal(room.model.decodes.length, 2);
  });

  it('pauses for a slow reader and goes on where it stopped', async () => {
    const alone = await createRoom().run({ maxTokens: 30 });
    const room = createRoom({
      onDecode: (_items, count) => {
        if (count === 8) slow.isReading = false;
      },
    });
    const slow: Heard = room.submit({ maxTokens: 30 });
    const other = await room.run({ prompt: 'another', maxTokens: 40 });
    assert.equal(other.text().length, 40);
    const before = slow.text().length;
    assert.ok(before > 0 && before < 10, `${before} tokens while nobody read`);
    slow.isReading = true;
    slow.running.resume();
    await slow.over;
    assert.equal(slow.text(), alone.text());
  });

  it('a reader that takes nothing loses its answer, and its sequence is free', async () => {
    const room = createRoom({
      readerWaitMsMax: 5,
      onDecode: (_items, count) => {
        if (count === 3) stalled.isReading = false;
      },
    });
    const stalled: Heard = room.submit({ maxTokens: 30 });
    await stalled.over;
    assert.equal(stalled.lines.at(-1)?.type, 'failed');
    assert.equal(room.scheduler.health().busySequences, 0);
    assert.equal((await room.run({ maxTokens: 5 })).text().length, 5);
  });

  it('a failed evaluation ends its own requests, and the next one works', async () => {
    const room = createRoom({
      onDecode: (_items, count) => {
        if (count === 4) throw new Error('no memory');
      },
    });
    const [a, b] = await Promise.all([room.run({ prompt: 'one' }), room.run({ prompt: 'two' })]);
    for (const heard of [a, b]) {
      assert.equal(heard.lines.at(-1)?.type, 'failed');
      assert.equal(heard.lines.filter((line) => line.type === 'finished').length, 0);
    }
    const next = await room.run({ prompt: 'one', maxTokens: 5 });
    assert.equal(next.text().length, 5);
    assert.equal(next.started().cachedTokens, 0, 'cells of a failed evaluation are not reused');
    assert.equal(room.scheduler.health().busySequences, 0);
    assert.equal(room.model.samplersAlive, 0);
  });

  it('a failure before the first line is a refusal, and gives every sequence back', async () => {
    const room = createRoom();
    const { createSampler } = room.model;
    let made = 0;
    room.model.createSampler = (options) => {
      if (++made === 2) throw new Error('no memory');
      return createSampler(options);
    };
    const heard = await room.run({ choices: 3 });
    assert.equal(heard.refusal?.kind, 'internal');
    assert.deepEqual(heard.lines, []);
    assert.equal(room.scheduler.health().busySequences, 0);
    assert.equal((await room.run({ choices: 4, maxTokens: 2 })).ends().length, 4);
  });

  it('a sampler that fails ends its request only', async () => {
    const room = createRoom();
    const { createSampler } = room.model;
    let made = 0;
    room.model.createSampler = (options) => {
      const sampler = createSampler(options);
      if (++made !== 2) return sampler;
      return { ...sampler, sample: () => Promise.reject(new Error('no candidates')) };
    };
    const [pair, single] = await Promise.all([
      room.run({ prompt: 'one', choices: 2, maxTokens: 9 }),
      room.run({ prompt: 'two', maxTokens: 9 }),
    ]);
    assert.equal(pair.lines.at(-1)?.type, 'failed');
    assert.equal(single.text().length, 9);
    assert.equal(room.model.samplersAlive, 0);
  });

  it('answers to the last cell of the context, with reason length, and never beyond', async () => {
    const room = createRoom({ contextTokens: 64 });
    const heard = await room.run({ prompt: 'x'.repeat(40), maxTokens: 1000 });
    assert.equal(heard.started().maxTokens, 24);
    assert.equal(heard.text().length, 24);
    assert.equal(heard.finished().counts.completionTokens, 24);
    assert.deepEqual(
      heard.ends().map((line) => line.reason),
      ['length'],
    );
  });
});

describe('several choices', () => {
  it('share one evaluation of the prompt, and then differ by their seeds', async () => {
    const room = createRoom();
    const prompt = 'x'.repeat(100);
    const heard = await room.run({ prompt, choices: 3, maxTokens: 6 });
    const evaluated = room.model.decodes.flat().filter((item) => item.at < prompt.length);
    assert.equal(
      evaluated.reduce((sum, item) => sum + item.tokens.length, 0),
      prompt.length,
    );
    const texts = [0, 1, 2].map((choice) => heard.text(choice));
    assert.equal(new Set(texts).size, 3);
    assert.equal(heard.ends().length, 3);
    assert.equal(heard.finished().counts.promptTokens, prompt.length);
    assert.equal(heard.finished().counts.completionTokens, 18);
  });

  it('more of them than there are sequences are refused', async () => {
    const room = createRoom({ sequences: 2 });
    const heard = await room.run({ choices: 3 });
    assert.equal(heard.refusal?.kind, 'invalid');
    assert.match(heard.refusal?.message ?? '', /2.*3/);
  });

  it('get all their sequences at once, and those that come later wait behind them', async () => {
    const room = createRoom({ sequences: 2 });
    const ends: string[] = [];
    const submit = async (name: string, choices: number, maxTokens: number): Promise<void> => {
      await room.run({ prompt: name, key: name, choices, maxTokens });
      ends.push(name);
    };
    await Promise.all([
      submit('first', 1, 20),
      submit('pair', 2, 4),
      ...['a', 'b', 'c', 'd'].map((name) => submit(name, 1, 4)),
    ]);
    // One sequence was free all along, yet nobody overtook the pair.
    assert.deepEqual(ends.slice(0, 2), ['first', 'pair']);
  });
});

describe('the queue', () => {
  it('loses a request that is cancelled while it waits', async () => {
    const room = createRoom({ sequences: 1 });
    const first = room.submit({ maxTokens: 5 });
    const waiting = room.submit({ prompt: 'never evaluated' });
    await Promise.resolve().then(() => waiting.running.cancel());
    await first.over;
    await room.idle();
    assert.equal(room.scheduler.health().queued, 0);
    assert.deepEqual(waiting.lines, []);
    assert.equal(new Set(room.model.decodes.flat().map((item) => item.tokens[0])).has('n'.charCodeAt(0)), false);
  });

  it('refuses when it is full, and when a key has its share', async () => {
    const room = createRoom({ sequences: 1, queuePlacesMax: 4 });
    const running = room.submit({ key: 'k0', maxTokens: 3 });
    await new Promise((resolve) => setImmediate(resolve));
    const waiting = ['k1', 'k1', 'k1', 'k2', 'k3', 'k4'].map((key) => room.submit({ key, maxTokens: 1 }));
    await Promise.all([running, ...waiting].map((heard) => heard.over));
    assert.deepEqual(
      waiting.map((heard) => heard.refusal?.kind),
      [undefined, undefined, 'key-share', undefined, undefined, 'queue-full'],
    );
    assert.ok(waiting.every((heard) => heard.refusal === undefined || (heard.refusal.retryAfterSeconds ?? 0) > 0));
  });

  it('refuses who waited too long', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const room = createRoom({ sequences: 1, queueWaitMsMax: 1000 });
    const running = room.submit();
    await new Promise((resolve) => setImmediate(resolve));
    const waiting = room.submit();
    await new Promise((resolve) => setImmediate(resolve));
    t.mock.timers.tick(999);
    assert.deepEqual([waiting.refusal?.kind], [undefined]);
    t.mock.timers.tick(1);
    assert.deepEqual([waiting.refusal?.kind], ['queue-wait']);
    running.running.cancel();
    await room.idle();
  });

  it('refuses newcomers while the engine drains, lets those who wait finish, and tells when nothing runs', async () => {
    const room = createRoom({ sequences: 1 });
    const running = room.submit({ maxTokens: 3 });
    const waiting = room.submit({ maxTokens: 3 });
    await new Promise((resolve) => setImmediate(resolve));
    const drained = room.scheduler.drain();
    const late = await room.run();
    assert.equal(late.refusal?.kind, 'draining');
    await drained;
    assert.equal(running.text().length, 3);
    assert.equal(waiting.text().length, 3);
  });
});

describe('a request whose schemas have to wait', () => {
  const phases = [{ kind: 'answer', grammar: { type: 'text', text: 'a' } }] as const;

  it('is refused as one that has to wait for a sequence', async () => {
    const refusals = { full: 'queue-full', 'key-share': 'key-share', wait: 'queue-wait' } as const;
    for (const reason of ['full', 'key-share', 'wait'] as const) {
      const room = createRoom({ compile: () => Promise.reject(new WorkerBusyError(reason)) });
      const { refusal } = await room.run({ phases });
      assert.equal(refusal?.kind, refusals[reason]);
      assert.ok((refusal?.retryAfterSeconds ?? 0) > 0);
    }
  });

  it('no longer waits when its caller leaves, and hears nothing more', async () => {
    let signal: AbortSignal | undefined;
    const room = createRoom({
      compile: (_, asker) =>
        new Promise((__, reject) => {
          ({ signal } = asker);
          signal?.addEventListener('abort', () => reject(new Error('gone')));
        }),
    });
    const heard = room.submit({ phases });
    heard.running.cancel();
    assert.equal(signal?.aborted, true);
    await room.idle();
    assert.equal(heard.refusal, undefined);
  });
});

describe('what cannot be served', () => {
  it('a prompt that fills the context is refused with both counts, and nothing is evaluated', async () => {
    const room = createRoom({ contextTokens: 64 });
    for (const length of [64, 1000]) {
      const heard = await room.run({ prompt: 'x'.repeat(length) });
      assert.equal(heard.refusal?.kind, 'too-long');
      assert.match(heard.refusal?.message ?? '', new RegExp(`\\[1, 63\\].*${length} tokens.*64`));
    }
    assert.equal(room.model.decodes.length, 0);
  });

  it('an empty prompt, a token outside the vocabulary, a bad bias and a bad grammar are refused', async () => {
    const room = createRoom();
    const refused = await Promise.all([
      room.run({ prompt: '' }),
      room.run({ sampling: { logitBias: [[9999, 1]] } }),
      room.run({ phases: [{ kind: 'answer', grammar: { type: 'text', text: 'bad' } }] }),
    ]);
    for (const heard of refused) assert.equal(heard.refusal?.kind, 'invalid');
    assert.equal(refused.at(-1)?.refusal?.param, 'tools[0]');
    assert.equal(room.model.decodes.length, 0);
  });
});
