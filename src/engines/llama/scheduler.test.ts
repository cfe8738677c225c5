import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WorkerBusyError } from '../fair-worker.ts';
import { createTestScheduler, type TestRequest } from './__fixtures__/test-scheduler.ts';

/** A clock that advances only when tokens are evaluated. */
function createEvaluationClock(msPerToken: number) {
  let now = 0;
  return {
    clock: { now: () => now, monotonic: () => now },
    advance: (items: readonly { tokens: readonly number[] }[]): number => {
      const ms = items.reduce((sum, item) => sum + item.tokens.length, 0) * msPerToken;
      now += ms;
      return ms;
    },
  };
}

describe('createScheduler: ticks', () => {
  it('evaluate all sequences in one batch', async () => {
    const setup = createTestScheduler({ sequences: 3 });
    const all = await Promise.all(['one', 'two', 'six'].map((prompt) => setup.run({ prompt, maxTokens: 10 })));
    for (const request of all) assert.equal(request.getText().length, 10);
    const steps = setup.model.decodes.filter((items) => items.every((item) => item.tokens.length === 1));
    assert.ok(steps.length >= 9);
    // Slices of the prompts may let one request start a tick earlier; only then a batch is not full.
    assert.ok(steps.filter((items) => items.length === 3).length >= steps.length - 2);
    assert.equal(setup.model.activeSamplers, 0);
  });

  it('generate for all requests while a long prompt is evaluated, in slices of at most 250 ms', async () => {
    const { clock, advance } = createEvaluationClock(5);
    const costs: number[] = [];
    let newcomer: TestRequest | undefined;
    const setup = createTestScheduler({
      clock,
      contextTokens: 1024,
      onDecode(items, count) {
        costs.push(advance(items));
        if (count === 20) newcomer = setup.submit({ prompt: 'x'.repeat(800), maxTokens: 2 });
      },
    });
    const others = [setup.submit({ prompt: 'ab', maxTokens: 100 }), setup.submit({ prompt: 'cd', maxTokens: 100 })];
    await Promise.all(others.map((request) => request.closed));
    await newcomer?.closed;
    assert.equal(newcomer?.getText().length, 2);
    const during = setup.model.decodes.slice(20).filter((items) => items.some((item) => item.tokens.length > 1));
    assert.ok(during.length > 10, 'the prompt came in slices');
    for (const items of during) assert.equal(items.filter((item) => item.tokens.length === 1).length, 2);
    assert.ok(Math.max(...costs) <= 250, `a tick took ${Math.max(...costs)} ms`);
  });

  it('alternate between two long prompts', async () => {
    const setup = createTestScheduler({ sequences: 2, batchTokensMax: 16 });
    const [a, b] = await Promise.all([
      setup.run({ prompt: 'a'.repeat(200), maxTokens: 1 }),
      setup.run({ prompt: 'b'.repeat(200), maxTokens: 1 }),
    ]);
    assert.equal(a.getText().length + b.getText().length, 2);
    const order = setup.model.decodes.map((items) => items[0]?.sequence);
    assert.ok(order.slice(0, 6).includes(0) && order.slice(0, 6).includes(1));
  });

  it('end a canceled request at the end of the running tick', async () => {
    const setup = createTestScheduler({
      onDecode: (_items, count) => {
        if (count === 5) request.handle.cancel();
      },
    });
    const request: TestRequest = setup.submit();
    await setup.drain();
    assert.equal(setup.model.decodes.length, 5);
    assert.equal(setup.scheduler.health().busySequences, 0);
    assert.equal(setup.model.activeSamplers, 0);
    assert.ok(request.lines.every((line) => line.type !== 'finished'));
  });

  it('end a request canceled during a long prompt after the running slice', async () => {
    const setup = createTestScheduler({
      onDecode: (_items, count) => {
        if (count === 2) request.handle.cancel();
      },
    });
    const request: TestRequest = setup.submit({ prompt: 'x'.repeat(400) });
    await setup.drain();
    assert.equal(setup.model.decodes.length, 2);
  });

  it('pause for a slow reader and continue where they stopped', async () => {
    const alone = await createTestScheduler().run({ maxTokens: 30 });
    const setup = createTestScheduler({
      onDecode: (_items, count) => {
        if (count === 8) slow.isReading = false;
      },
    });
    const slow: TestRequest = setup.submit({ maxTokens: 30 });
    const other = await setup.run({ prompt: 'another', maxTokens: 40 });
    assert.equal(other.getText().length, 40);
    const before = slow.getText().length;
    assert.ok(before > 0 && before < 10, `${before} tokens while the client did not read`);
    slow.isReading = true;
    slow.handle.resume();
    await slow.closed;
    assert.equal(slow.getText(), alone.getText());
  });

  it('fail a request whose reader takes nothing, and free its sequence', async () => {
    const setup = createTestScheduler({
      readerWaitMsMax: 5,
      onDecode: (_items, count) => {
        if (count === 3) stalled.isReading = false;
      },
    });
    const stalled: TestRequest = setup.submit({ maxTokens: 30 });
    await stalled.closed;
    assert.equal(stalled.lines.at(-1)?.type, 'failed');
    assert.equal(setup.scheduler.health().busySequences, 0);
    assert.equal((await setup.run({ maxTokens: 5 })).getText().length, 5);
  });

  it('fail only the requests of a failed evaluation, and serve the next one', async () => {
    const setup = createTestScheduler({
      onDecode: (_items, count) => {
        if (count === 4) throw new Error('no memory');
      },
    });
    const [a, b] = await Promise.all([setup.run({ prompt: 'one' }), setup.run({ prompt: 'two' })]);
    for (const request of [a, b]) {
      assert.equal(request.lines.at(-1)?.type, 'failed');
      assert.equal(request.lines.filter((line) => line.type === 'finished').length, 0);
    }
    const next = await setup.run({ prompt: 'one', maxTokens: 5 });
    assert.equal(next.getText().length, 5);
    assert.equal(next.getStarted().cachedTokens, 0, 'cells of a failed evaluation are not reused');
    assert.equal(setup.scheduler.health().busySequences, 0);
    assert.equal(setup.model.activeSamplers, 0);
  });

  it('refuse a request that fails before its first line, and free every sequence', async () => {
    const setup = createTestScheduler();
    const { createSampler } = setup.model;
    let made = 0;
    setup.model.createSampler = (options) => {
      if (++made === 2) throw new Error('no memory');
      return createSampler(options);
    };
    const request = await setup.run({ choices: 3 });
    assert.equal(request.refusal?.kind, 'internal');
    assert.deepEqual(request.lines, []);
    assert.equal(setup.scheduler.health().busySequences, 0);
    assert.equal((await setup.run({ choices: 4, maxTokens: 2 })).getChoiceEnds().length, 4);
  });

  it('fail only the request whose sampler fails', async () => {
    const setup = createTestScheduler();
    const { createSampler } = setup.model;
    let made = 0;
    setup.model.createSampler = (options) => {
      const sampler = createSampler(options);
      if (++made !== 2) return sampler;
      return { ...sampler, sample: () => Promise.reject(new Error('no candidates')) };
    };
    const [pair, single] = await Promise.all([
      setup.run({ prompt: 'one', choices: 2, maxTokens: 9 }),
      setup.run({ prompt: 'two', maxTokens: 9 }),
    ]);
    assert.equal(pair.lines.at(-1)?.type, 'failed');
    assert.equal(single.getText().length, 9);
    assert.equal(setup.model.activeSamplers, 0);
  });

  it('answer up to the last cell of the context, with reason length', async () => {
    const setup = createTestScheduler({ contextTokens: 64 });
    const request = await setup.run({ prompt: 'x'.repeat(40), maxTokens: 1000 });
    assert.equal(request.getStarted().maxTokens, 24);
    assert.equal(request.getText().length, 24);
    assert.equal(request.getFinished().counts.completionTokens, 24);
    assert.deepEqual(
      request.getChoiceEnds().map((line) => line.reason),
      ['length'],
    );
  });
});

describe('createScheduler: several choices', () => {
  it('share one evaluation of the prompt, and differ by their seeds', async () => {
    const setup = createTestScheduler();
    const prompt = 'x'.repeat(100);
    const request = await setup.run({ prompt, choices: 3, maxTokens: 6 });
    const evaluated = setup.model.decodes.flat().filter((item) => item.position < prompt.length);
    assert.equal(
      evaluated.reduce((sum, item) => sum + item.tokens.length, 0),
      prompt.length,
    );
    const texts = [0, 1, 2].map((choice) => request.getText(choice));
    assert.equal(new Set(texts).size, 3);
    assert.equal(request.getChoiceEnds().length, 3);
    assert.equal(request.getFinished().counts.promptTokens, prompt.length);
    assert.equal(request.getFinished().counts.completionTokens, 18);
  });

  it('are refused if there are more of them than sequences', async () => {
    const setup = createTestScheduler({ sequences: 2 });
    const request = await setup.run({ choices: 3 });
    assert.equal(request.refusal?.kind, 'invalid');
    assert.match(request.refusal?.message ?? '', /2.*3/);
  });

  it('start with the sequences that are free; requests that come later do not overtake them', async () => {
    const setup = createTestScheduler({ sequences: 2 });
    const ends: string[] = [];
    const submit = async (name: string, choices: number, maxTokens: number): Promise<void> => {
      await setup.run({ prompt: name, key: name, choices, maxTokens });
      ends.push(name);
    };
    await Promise.all([
      submit('first', 1, 20),
      submit('pair', 2, 4),
      ...['a', 'b', 'c', 'd'].map((name) => submit(name, 1, 4)),
    ]);
    // One sequence was free all the time: both choices of the pair used it, one after the other.
    assert.equal(ends[0], 'pair');
  });
});

describe('createScheduler: queue', () => {
  it('drops a request that is canceled while it waits', async () => {
    const setup = createTestScheduler({ sequences: 1 });
    const first = setup.submit({ maxTokens: 5 });
    const waiting = setup.submit({ prompt: 'never evaluated' });
    await Promise.resolve().then(() => waiting.handle.cancel());
    await first.closed;
    await setup.drain();
    assert.equal(setup.scheduler.health().queued, 0);
    assert.deepEqual(waiting.lines, []);
    assert.equal(new Set(setup.model.decodes.flat().map((item) => item.tokens[0])).has('n'.charCodeAt(0)), false);
  });

  it('refuses requests when it is full, and when a key has its share', async () => {
    const setup = createTestScheduler({ sequences: 1, queueLengthMax: 4 });
    const running = setup.submit({ key: 'k0', maxTokens: 3 });
    await new Promise((resolve) => setImmediate(resolve));
    const waiting = ['k1', 'k1', 'k1', 'k2', 'k3', 'k4'].map((key) => setup.submit({ key, maxTokens: 1 }));
    await Promise.all([running, ...waiting].map((request) => request.closed));
    assert.deepEqual(
      waiting.map((request) => request.refusal?.kind),
      [undefined, undefined, 'key-share', undefined, undefined, 'queue-full'],
    );
    assert.ok(
      waiting.every((request) => request.refusal === undefined || (request.refusal.retryAfterSeconds ?? 0) > 0),
    );
  });

  it('refuses a request that waited too long', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const setup = createTestScheduler({ sequences: 1, queueWaitMsMax: 1000 });
    const running = setup.submit();
    await new Promise((resolve) => setImmediate(resolve));
    const waiting = setup.submit();
    await new Promise((resolve) => setImmediate(resolve));
    t.mock.timers.tick(999);
    assert.deepEqual([waiting.refusal?.kind], [undefined]);
    t.mock.timers.tick(1);
    assert.deepEqual([waiting.refusal?.kind], ['queue-wait']);
    running.handle.cancel();
    await setup.drain();
  });

  it('refuses new requests while draining, finishes waiting ones, and reports when nothing runs', async () => {
    const setup = createTestScheduler({ sequences: 1 });
    const running = setup.submit({ maxTokens: 3 });
    const waiting = setup.submit({ maxTokens: 3 });
    await new Promise((resolve) => setImmediate(resolve));
    const drained = setup.scheduler.drain();
    const late = await setup.run();
    assert.equal(late.refusal?.kind, 'draining');
    await drained;
    assert.equal(running.getText().length, 3);
    assert.equal(waiting.getText().length, 3);
  });
});

describe('createScheduler: schema compilation', () => {
  const phases = [{ kind: 'answer', grammar: { type: 'text', text: 'a' } }] as const;

  it('refuses a request that cannot compile its schemas, like one without a sequence', async () => {
    const refusals = { full: 'queue-full', 'key-share': 'key-share', wait: 'queue-wait' } as const;
    for (const reason of ['full', 'key-share', 'wait'] as const) {
      const setup = createTestScheduler({ compileGrammars: () => Promise.reject(new WorkerBusyError(reason)) });
      const { refusal } = await setup.run({ phases });
      assert.equal(refusal?.kind, refusals[reason]);
      assert.ok((refusal?.retryAfterSeconds ?? 0) > 0);
    }
  });

  it('stops waiting when the client disconnects, and reports nothing more', async () => {
    let signal: AbortSignal | undefined;
    const setup = createTestScheduler({
      compileGrammars: (_, caller) =>
        new Promise((__, reject) => {
          ({ signal } = caller);
          signal?.addEventListener('abort', () => reject(new Error('gone')));
        }),
    });
    const request = setup.submit({ phases });
    await new Promise((resolve) => setImmediate(resolve));
    request.handle.cancel();
    assert.equal(signal?.aborted, true);
    await setup.drain();
    assert.equal(request.refusal, undefined);
  });
});

describe('createScheduler: invalid requests', () => {
  it('refuses a prompt that fills the context with both counts, and evaluates nothing', async () => {
    const setup = createTestScheduler({ contextTokens: 64 });
    for (const length of [64, 1000]) {
      const request = await setup.run({ prompt: 'x'.repeat(length) });
      assert.equal(request.refusal?.kind, 'too-long');
      assert.match(request.refusal?.message ?? '', new RegExp(`\\[1, 63\\].*${length} tokens.*64`));
    }
    assert.equal(setup.model.decodes.length, 0);
  });

  it('refuses an empty prompt, a token outside the vocabulary, a bad bias and a bad grammar', async () => {
    const setup = createTestScheduler();
    const refused = await Promise.all([
      setup.run({ prompt: '' }),
      setup.run({ sampling: { logitBias: [[9999, 1]] } }),
      setup.run({ phases: [{ kind: 'answer', grammar: { type: 'text', text: 'bad' } }] }),
    ]);
    for (const request of refused) assert.equal(request.refusal?.kind, 'invalid');
    assert.equal(refused.at(-1)?.refusal?.param, 'tools[0]');
    assert.equal(setup.model.decodes.length, 0);
  });
});
