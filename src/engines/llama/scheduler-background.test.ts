import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { YIELD_MS } from '../limits.ts';
import { LIVE_SEQUENCE_RESERVE_MS } from './limits.ts';
import { createTestScheduler, type TestCallOptions, type TestRequest } from './__fixtures__/test-scheduler.ts';

const BACKGROUND: TestCallOptions = { priority: 'background' };

/** A clock that the test sets. */
function createManualClock() {
  let now = 0;
  return { clock: { now: () => now, monotonic: () => now }, advance: (ms: number) => void (now += ms) };
}

const runAlone = async (options: TestCallOptions): Promise<string> =>
  (await createTestScheduler().run(options)).getText();

describe('createScheduler: background requests', () => {
  it('use all sequences while there is no live request', async () => {
    let largest = 0;
    const setup = createTestScheduler({
      sequences: 3,
      onDecode: (items) => void (largest = Math.max(largest, items.length)),
    });
    const all = await Promise.all(['a', 'b', 'c'].map((prompt) => setup.run({ ...BACKGROUND, prompt, maxTokens: 20 })));
    assert.equal(largest, 3);
    for (const request of all) assert.equal(request.getText().length, 20);
  });

  it('leave one sequence free for some time after a live request, and use it again later', async () => {
    const { clock, advance } = createManualClock();
    const busy: number[] = [];
    const setup = createTestScheduler({
      sequences: 2,
      clock,
      onDecode(_items, count) {
        busy.push(setup.scheduler.health().busySequences);
        if (count === 40) advance(LIVE_SEQUENCE_RESERVE_MS);
      },
    });
    await setup.run({ maxTokens: 2 });
    const from = busy.length;
    await Promise.all(['a', 'b'].map((prompt) => setup.run({ ...BACKGROUND, prompt, maxTokens: 60 })));
    assert.deepEqual(new Set(busy.slice(from, 40)), new Set([1]));
    assert.equal(busy[42], 2);
  });

  it('of a workspace above its share are interrupted for those of another, also while a sequence is kept for live ones', async () => {
    const { clock, advance } = createManualClock();
    const busy: number[] = [];
    let late: TestRequest | undefined;
    let waited = 0;
    const setup = createTestScheduler({
      sequences: 4,
      clock,
      onDecode(_items, count) {
        advance(10);
        busy.push(setup.scheduler.health().busySequences);
        if (count === 40) late = setup.submit({ ...BACKGROUND, workspace: 'b', prompt: 'Hi', maxTokens: 1 });
        if (late && late.lines.length === 0) waited++;
      },
    });
    await setup.run({ maxTokens: 1 });
    const stories = Array.from({ length: 3 }, (_, at) => ({ prompt: `a story ${at}`, key: `${at}`, maxTokens: 200 }));
    const all = await Promise.all(stories.map((story) => setup.run({ ...BACKGROUND, workspace: 'a', ...story })));
    assert.ok(waited <= 3, `it waited for ${waited} evaluations`);
    assert.equal(late?.getText(), await runAlone({ prompt: 'Hi', maxTokens: 1 }));
    assert.ok(Math.max(...busy) <= 3, 'one sequence stays free');
    for (const [at, request] of all.entries()) assert.equal(request.getText(), await runAlone(stories[at] ?? {}));
  });

  it('with several choices take one sequence from others until their prompt is evaluated', async () => {
    const { clock, advance } = createManualClock();
    let wide: TestRequest | undefined;
    const generating: number[] = [];
    const setup = createTestScheduler({
      sequences: 6,
      contextTokens: 8_192,
      queueLengthMax: 16,
      batchTokensMax: 16,
      clock,
      onDecode(items, count) {
        advance(10);
        if (count === 40)
          wide = setup.submit({ ...BACKGROUND, workspace: 'b', prompt: 'x'.repeat(1_600), choices: 3, maxTokens: 5 });
        const isReadingPrompt = wide?.lines.some(({ type }) => type === 'started') && wide.lines.length === 1;
        if (isReadingPrompt) generating.push(items.filter(({ tokens }) => tokens.length === 1).length);
      },
    });
    await setup.run({ maxTokens: 1 });
    await Promise.all(
      ['0', '1', '2', '3', '4'].map((key) =>
        setup.run({ ...BACKGROUND, workspace: 'a', key, prompt: key, maxTokens: 300 }),
      ),
    );
    await wide?.closed;
    assert.ok(generating.length > 2 * (YIELD_MS / 10), `${generating.length} evaluations`);
    assert.deepEqual(new Set(generating), new Set([4]));
  });

  it('release a sequence for a live request, and later resume with the same text', async () => {
    for (const sequences of [1, 3]) {
      const prompts = Array.from({ length: sequences }, (_, at) => `long story ${at}`);
      let live: TestRequest | undefined;
      let decodesBeforeLive = 0;
      const setup = createTestScheduler({
        sequences,
        onDecode(_items, count) {
          if (count === 20) live = setup.submit({ prompt: 'Hi', maxTokens: 5 });
          if (live && live.lines.length === 0) decodesBeforeLive++;
        },
      });
      const background = await Promise.all(
        prompts.map((prompt) => setup.run({ ...BACKGROUND, prompt, maxTokens: 40 })),
      );
      await live?.closed;
      assert.equal(live?.getText(), await runAlone({ prompt: 'Hi', maxTokens: 5 }));
      assert.ok(decodesBeforeLive <= 3, `it waited for ${decodesBeforeLive} ticks`);
      for (const [at, request] of background.entries()) {
        assert.equal(request.getText(), await runAlone({ prompt: prompts[at] ?? '', maxTokens: 40 }));
        assert.equal(request.getFinished().counts.completionTokens, 40);
        assert.equal(request.lines.filter(({ type }) => type === 'started').length, 1);
      }
      assert.equal(setup.scheduler.health().busySequences, 0);
      assert.equal(setup.model.activeSamplers, 0);
    }
  });

  it('finish their prompt later if they are preempted within it', async () => {
    let live: TestRequest | undefined;
    const setup = createTestScheduler({
      sequences: 1,
      batchTokensMax: 16,
      onDecode(_items, count) {
        if (count === 3) live = setup.submit({ prompt: 'Hi', maxTokens: 5 });
      },
    });
    const long = { prompt: 'x'.repeat(200), maxTokens: 5 };
    const background = await setup.run({ ...BACKGROUND, ...long });
    assert.equal(background.getText(), await runAlone(long));
    assert.equal(live?.getText(), await runAlone({ prompt: 'Hi', maxTokens: 5 }));
  });

  it('can be canceled while preempted, and leave nothing background', async () => {
    const came = Promise.withResolvers<TestRequest>();
    const setup = createTestScheduler({
      sequences: 1,
      onDecode(_items, count) {
        if (count === 5) came.resolve(setup.submit({ prompt: 'Hi', maxTokens: 20 }));
        if (count === 12) background.handle.cancel();
      },
    });
    const background: TestRequest = setup.submit({ ...BACKGROUND, maxTokens: 400 });
    const live = await came.promise;
    await live.closed;
    await setup.drain();
    assert.equal(live.getText().length, 20);
    assert.ok(background.lines.every(({ type }) => type !== 'finished'));
    assert.equal(setup.model.activeSamplers, 0);
    assert.equal(setup.scheduler.health().busySequences, 0);
  });

  it('keep their text if they are seeded and preempted', async () => {
    let live: TestRequest | undefined;
    const setup = createTestScheduler({
      sequences: 1,
      onDecode: (_items, count) => void (count === 10 && (live = setup.submit({ prompt: 'Hi', maxTokens: 5 }))),
    });
    const seeded = { ...BACKGROUND, sampling: { seed: 4 }, maxTokens: 20 };
    const background = await setup.run(seeded);
    await live?.closed;
    assert.equal(live?.getText().length, 5);
    assert.equal(background.getText(), await runAlone(seeded));
  });

  it('may use all sequences at once if nothing else runs', async () => {
    const setup = createTestScheduler({ sequences: 2 });
    const request = await setup.run({ ...BACKGROUND, choices: 2, maxTokens: 5 });
    assert.deepEqual([request.getText(0).length, request.getText(1).length], [5, 5]);
  });

  it('wait background later live requests, and never take queue entries from them', async () => {
    const order: string[] = [];
    const setup = createTestScheduler({ sequences: 1, queueLengthMax: 4 });
    const submit = (name: string, options: TestCallOptions): TestRequest => {
      const request = setup.submit({ ...options, maxTokens: 3 });
      void request.closed.then(() => order.push(request.refusal ? `${name}: ${request.refusal.kind}` : name));
      return request;
    };
    const all = [
      submit('running', { key: 'x' }),
      submit('background 1', { ...BACKGROUND, key: 'a' }),
      submit('background 2', { ...BACKGROUND, key: 'b' }),
      submit('background 3', { ...BACKGROUND, key: 'c' }),
      ...['a', 'b', 'c', 'd'].map((key) => submit(`live ${key}`, { key })),
    ];
    await Promise.all(all.map(({ closed }) => closed));
    assert.deepEqual(order, [
      'background 3: queue-full',
      'running',
      'live a',
      'live b',
      'live c',
      'live d',
      'background 1',
      'background 2',
    ]);
  });

  it('are not delayed by a live reader that reads nothing', async () => {
    const setup = createTestScheduler({
      sequences: 2,
      onDecode(_items, count) {
        if (count === 3) live.isReading = false;
      },
    });
    const live: TestRequest = setup.submit({ maxTokens: 30 });
    const background = await setup.run({ ...BACKGROUND, prompt: 'another', maxTokens: 40 });
    assert.equal(background.getText().length, 40);
    live.isReading = true;
    live.handle.resume();
    await live.closed;
    assert.equal(live.getText().length, 30);
  });
});
