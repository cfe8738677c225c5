import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ROTATION_MS, SHARE_RESERVE_MS, YIELD_MS } from '../limits.ts';
import { SAVE_RETRY_MS } from './limits.ts';
import {
  createTestScheduler,
  type TestCallOptions,
  type TestRequest,
  type TestSchedulerOptions,
} from './__fixtures__/test-scheduler.ts';

/** Duration of an evaluation in these tests, in ms. */
const DECODE_MS = 10;

/** Step of the clock at each call: no two times are equal. */
const CLOCK_STEP_MS = 0.001;

/** A scheduler whose clock advances with each evaluation. */
function createTimedScheduler({ onDecode, ...options }: TestSchedulerOptions = {}) {
  let now = 0;
  const setup = createTestScheduler({
    ...options,
    clock: { now: () => now, monotonic: () => (now += CLOCK_STEP_MS) },
    onDecode(items, count) {
      now += DECODE_MS;
      onDecode?.(items, count);
    },
  });
  return { ...setup, advance: (ms: number) => void (now += ms) };
}

/** One sequence for long contexts, whose states cannot be saved. */
const FULL_DISK = { sequences: 1, batchTokensMax: 16, canSaveStates: () => false, contextTokens: 8_192 };

/** Lets everything run that is ready. */
async function letOthersRun(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const runAlone = async (options: TestCallOptions): Promise<string[]> => {
  const request = await createTestScheduler().run(options);
  return Array.from({ length: options.choices ?? 1 }, (_, choice) => request.getText(choice));
};

const getTexts = (request: TestRequest, choices = 1): string[] =>
  Array.from({ length: choices }, (_, choice) => request.getText(choice));

describe('createScheduler: fair shares of running work', () => {
  it('interrupt answers of a workspace above its share for a newcomer, and continue them later', async () => {
    const greedy = { workspace: 'a', prompt: 'a long story', choices: 4, maxTokens: 200 };
    const newcomer = { workspace: 'b', prompt: 'Hi', maxTokens: 1 };
    let waited = 0;
    let late: TestRequest | undefined;
    const setup = createTimedScheduler({
      sequences: 4,
      onDecode(_items, count) {
        if (count === 100) late = setup.submit(newcomer);
        if (late && late.lines.length === 0) waited++;
      },
    });
    const request = await setup.run(greedy);
    assert.deepEqual(late && getTexts(late), await runAlone(newcomer));
    assert.ok(waited <= 3, `it waited for ${waited} evaluations`);
    assert.deepEqual(getTexts(request, 4), await runAlone(greedy));
    assert.equal(request.lines.filter(({ type }) => type === 'started').length, 1);
    assert.equal(request.getFinished().counts.completionTokens, 800);
    assert.equal(setup.scheduler.health().busySequences, 0);
    assert.equal(setup.model.activeSamplers, 0);
  });

  it('leave a sequence at least as long as a slice', async () => {
    let late: TestRequest | undefined;
    let waited = 0;
    const setup = createTimedScheduler({
      sequences: 2,
      onDecode(_items, count) {
        if (count === 1) late = setup.submit({ workspace: 'b', prompt: 'Hi', maxTokens: 1 });
        if (late && late.lines.length === 0) waited++;
      },
    });
    await setup.run({ workspace: 'a', choices: 2, maxTokens: 100 });
    const slice = YIELD_MS / DECODE_MS;
    assert.ok(waited >= slice - 2 && waited <= slice + 2, `it waited for ${waited} evaluations`);
  });

  it('leave a workspace its share, however many others want more', async () => {
    const tokensAt = new Map<number, number>();
    const setup = createTimedScheduler({
      sequences: 4,
      onDecode(_items, count) {
        if (count === 60)
          for (const at of [0, 1, 2, 3]) void setup.run({ workspace: 'b', prompt: `b ${at}`, maxTokens: 100 });
        tokensAt.set(count, greedy.lines.filter(({ type }) => type === 'token').length);
      },
    });
    const greedy = setup.submit({ workspace: 'a', prompt: 'a story', choices: 4, maxTokens: 200 });
    await greedy.closed;
    await setup.drain();
    const during = (from: number, to: number): number => (tokensAt.get(to) ?? 0) - (tokensAt.get(from) ?? 0);
    assert.equal(during(30, 50), 4 * 20);
    assert.equal(during(80, 120), 2 * 40);
  });

  it('rotate between workspaces within their shares, so that none waits for the end of a long answer', async () => {
    const order: string[] = [];
    const setup = createTimedScheduler({ sequences: 2 });
    const run = async (workspace: string, maxTokens: number): Promise<void> => {
      await setup.run({ workspace, prompt: `${workspace} story`, maxTokens });
      order.push(workspace);
    };
    await Promise.all([run('a', 450), run('b', 450), run('c', 5)]);
    assert.equal(order[0], 'c', 'the newcomer ended first, after a rotation');
    const evaluations = setup.model.decodes.findIndex((items) => items.some(({ tokens }) => tokens[0] === 99));
    assert.ok(Math.abs(evaluations - ROTATION_MS / DECODE_MS) < 5, `it started after ${evaluations} evaluations`);
  });

  it('rotate between keys of a workspace', async () => {
    const order: string[] = [];
    const setup = createTimedScheduler({ sequences: 1 });
    const run = async (key: string, maxTokens: number): Promise<void> => {
      await setup.run({ key, prompt: `${key} story`, maxTokens });
      order.push(key);
    };
    await Promise.all([run('long', 400), run('short', 5)]);
    assert.deepEqual(order, ['short', 'long']);
  });

  it('keep a sequence free for another workspace that was active, and use all of them afterwards', async () => {
    const busy: number[] = [];
    const setup = createTimedScheduler({
      sequences: 4,
      onDecode: () => void busy.push(setup.scheduler.health().busySequences),
    });
    await setup.run({ workspace: 'b', maxTokens: 1 });
    await setup.run({ workspace: 'a', choices: 4, maxTokens: 400 });
    assert.equal(Math.max(...busy.slice(1, 100)), 3);
    assert.ok(busy.slice(SHARE_RESERVE_MS / DECODE_MS + 5, 390).every((count) => count === 4));
  });

  it('interrupt seeded answers without changing them', async () => {
    const seeded = { workspace: 'a', prompt: 'a seeded story', sampling: { seed: 7 }, maxTokens: 120 };
    let late: TestRequest | undefined;
    const setup = createTimedScheduler({
      sequences: 1,
      onDecode: (_items, count) => void (count === 60 && (late = setup.submit({ workspace: 'b', maxTokens: 3 }))),
    });
    const request = await setup.run({ ...seeded, maxTokens: 400 });
    await late?.closed;
    assert.equal(late?.getText().length, 3);
    assert.deepEqual(getTexts(request), await runAlone({ ...seeded, maxTokens: 400 }));
    // All tokens after the prompt were evaluated once, one by one.
    const generated = setup.model.decodes.flat().filter(({ position }) => position >= 14);
    assert.ok(generated.every(({ tokens }) => tokens.length === 1));
  });

  it('do not interrupt a seeded answer whose state cannot be saved', async () => {
    const order: string[] = [];
    const setup = createTimedScheduler({ sequences: 1, canSaveStates: () => false });
    const run = async (workspace: string, options: TestCallOptions): Promise<void> => {
      await setup.run({ workspace, ...options });
      order.push(workspace);
    };
    await Promise.all([run('a', { sampling: { seed: 7 }, maxTokens: 400 }), run('b', { maxTokens: 3 })]);
    assert.deepEqual(order, ['a', 'b']);
  });

  it('evaluate the tokens again if the state of an unseeded answer cannot be saved', async () => {
    const order: string[] = [];
    const setup = createTimedScheduler({ sequences: 1, canSaveStates: () => false });
    const long = { workspace: 'a', prompt: 'a long story', maxTokens: 400 };
    const [request] = await Promise.all([
      setup.run(long).then((done) => (order.push('a'), done)),
      setup.run({ workspace: 'b', maxTokens: 3 }).then(() => order.push('b')),
    ]);
    assert.deepEqual(order, ['b', 'a']);
    assert.deepEqual(getTexts(request), await runAlone(long));
  });

  it('start a request once when one of a higher class arrives while a state is saved for it', async () => {
    let live: TestRequest | undefined;
    const setup = createTimedScheduler({
      sequences: 1,
      async onMove() {
        live ??= setup.submit({ workspace: 'c', prompt: 'Hi', maxTokens: 3 });
        await letOthersRun();
      },
    });
    const [, next] = await Promise.all([
      setup.run({ workspace: 'a', priority: 'background', prompt: 'aaaa', maxTokens: 400 }),
      setup.run({ workspace: 'b', priority: 'background', prompt: 'bbbb', maxTokens: 30 }),
    ]);
    await live?.closed;
    assert.equal(next.lines.filter(({ type }) => type === 'started').length, 1);
    assert.equal(live?.getFinished().counts.completionTokens, 3);
    assert.equal(setup.scheduler.health().busySequences, 0);
    assert.equal(setup.model.activeSamplers, 0);
  });

  it('do not run a request that was cancelled while a state was saved for it', async () => {
    const setup = createTimedScheduler({
      sequences: 1,
      async onMove() {
        next.handle.cancel();
        await letOthersRun();
      },
    });
    const running = setup.run({ workspace: 'a', prompt: 'aaaa', maxTokens: 400 });
    const next = setup.submit({ workspace: 'b', prompt: 'bbbb', maxTokens: 50 });
    assert.equal((await running).getFinished().counts.completionTokens, 400);
    assert.deepEqual(next.lines, []);
    assert.equal(setup.scheduler.health().busySequences, 0);
  });

  it('leave most of the time for work when moving a state takes longer than a turn', async () => {
    let moves = 0;
    const setup = createTimedScheduler({
      sequences: 1,
      contextTokens: 4_096,
      async onMove() {
        moves++;
        setup.advance(ROTATION_MS + 100);
      },
    });
    const requests = await Promise.all(
      ['a', 'b'].map((workspace) => setup.run({ workspace, prompt: workspace, maxTokens: 2_000 })),
    );
    for (const request of requests) assert.equal(request.getFinished().counts.completionTokens, 2_000);
    assert.ok(moves > 2 && moves < 20, `${moves} moves in 40 s of work`);
  });

  it('keep a sequence for a long context whose state cannot be saved', async () => {
    let decodes = 0;
    const setup = createTimedScheduler({ ...FULL_DISK, onDecode: () => void decodes++ });
    const requests = await Promise.all(
      ['a', 'b'].map((workspace) => setup.run({ workspace, prompt: workspace.repeat(5_000), maxTokens: 5 })),
    );
    for (const request of requests) assert.equal(request.getFinished().counts.completionTokens, 5);
    assert.ok(decodes < 1_500, `${decodes} evaluations of 2 × 313`);
  });

  it('give way to live work at once, also with a long context whose state cannot be saved', async () => {
    let live: TestRequest | undefined;
    let decodes = 0;
    const setup = createTimedScheduler({
      ...FULL_DISK,
      onDecode(_items, count) {
        if (count === 100) live = setup.submit({ workspace: 'b', prompt: 'Hi', maxTokens: 1 });
        if (live && live.lines.length === 0) decodes++;
      },
    });
    const request = await setup.run({ priority: 'background', prompt: 'a'.repeat(5_000), maxTokens: 5 });
    assert.equal(request.getFinished().counts.completionTokens, 5);
    assert.ok(decodes <= 3, `live work waited for ${decodes} evaluations`);
  });

  it('take the sequences of choices that wait for the prompt first', async () => {
    const others: Promise<TestRequest>[] = [];
    let doneFirst = 0;
    const setup = createTimedScheduler({
      sequences: 4,
      batchTokensMax: 16,
      contextTokens: 4_096,
      queueLengthMax: 50,
      onDecode(_items, count) {
        if (count !== 30) return;
        for (let i = 0; i < 6; i++)
          others.push(setup.run({ workspace: 'b', prompt: `b ${i}`, maxTokens: 1_000 }).finally(() => doneFirst++));
      },
    });
    const request = await setup.run({ workspace: 'a', choices: 4, maxTokens: 10, prompt: 'x'.repeat(1_500) });
    assert.equal(request.getFinished().counts.completionTokens, 40);
    assert.ok(doneFirst < 3, `${doneFirst} of 6 long answers came first`);
    await Promise.all(others);
  });

  it('share sequences between reserved requests', async () => {
    const order: string[] = [];
    const setup = createTimedScheduler({ sequences: 2 });
    const run = async (workspace: string, maxTokens: number, choices = 1): Promise<void> => {
      await setup.run({ workspace, priority: 'reserved', prompt: `${workspace} p`, choices, maxTokens });
      order.push(workspace);
    };
    await Promise.all([run('a', 1_000, 2), run('b', 1_000), run('c', 5)]);
    assert.equal(order[0], 'c');
  });

  it('rotate background work between workspaces', async () => {
    const order: string[] = [];
    const setup = createTimedScheduler({ sequences: 1 });
    const run = async (workspace: string, maxTokens: number): Promise<void> => {
      await setup.run({ workspace, priority: 'background', prompt: workspace, maxTokens });
      order.push(workspace);
    };
    await Promise.all([run('a', 400), run('b', 5)]);
    assert.deepEqual(order, ['b', 'a']);
  });

  it('try to save a state again some time after that has failed', async () => {
    let saves = 0;
    let waited = 0;
    const setup = createTimedScheduler({
      sequences: 1,
      contextTokens: 8_192,
      canSaveStates: () => ++saves > 1,
      onDecode: () => void (waiting.lines.length === 0 && waited++),
    });
    const seeded = { workspace: 'a', sampling: { seed: 4 }, maxTokens: 4_000 };
    const running = setup.submit(seeded);
    const waiting: TestRequest = setup.submit({ workspace: 'b', prompt: 'Hi', maxTokens: 5 });
    await waiting.closed;
    const expected = (ROTATION_MS + SAVE_RETRY_MS) / DECODE_MS;
    assert.ok(Math.abs(waited - expected) < 5, `it waited for ${waited} evaluations`);
    await running.closed;
    assert.equal(saves, 2);
    assert.equal(running.getText().length, 4_000);
  });

  it('interrupt an answer whose reader has stopped reading', async () => {
    const setup = createTimedScheduler({
      sequences: 1,
      onDecode: (_items, count) => {
        if (count !== 30) return;
        slow.isReading = false;
        setup.advance(ROTATION_MS);
      },
    });
    const slow: TestRequest = setup.submit({ workspace: 'a', maxTokens: 400 });
    const other = setup.submit({ workspace: 'b', prompt: 'Hi', maxTokens: 3 });
    await other.closed;
    assert.equal(other.getText().length, 3);
    slow.isReading = true;
    slow.handle.resume();
    await slow.closed;
    assert.equal(slow.getText().length, 400);
  });

  it('never change an answer, whatever runs beside it', async () => {
    const job = fc.record({
      workspace: fc.constantFrom('a', 'b', 'c'),
      key: fc.constantFrom('k', 'l'),
      prompt: fc.string({ minLength: 1, maxLength: 40 }),
      choices: fc.integer({ min: 1, max: 3 }),
      maxTokens: fc.integer({ min: 1, max: 60 }),
      priority: fc.constantFrom(undefined, undefined, 'background', 'reserved'),
      seed: fc.option(fc.nat({ max: 9 }), { nil: undefined }),
      after: fc.integer({ min: 0, max: 40 }),
    });
    const property = fc.asyncProperty(
      fc.array(job, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 3, max: 4 }),
      fc.integer({ min: 1, max: 500 }),
      async (jobs, sequences, decodeMs) => {
        const calls = jobs.map(({ seed, priority, workspace, key, prompt, choices, maxTokens }): TestCallOptions => ({
          workspace,
          key,
          prompt,
          choices,
          maxTokens,
          ...(priority ? { priority } : {}),
          sampling: seed === undefined ? {} : { seed },
        }));
        const running: Promise<TestRequest>[] = [];
        const submitDue = (count: number): void => {
          for (const [at, { after }] of jobs.entries()) if (after === count) running[at] ??= setup.run(calls[at] ?? {});
        };
        const setup = createTimedScheduler({
          sequences,
          queueLengthMax: 100,
          onDecode(_items, count) {
            setup.advance(decodeMs);
            submitDue(count);
          },
        });
        submitDue(0);
        // The requests that no evaluation reached are submitted at the end.
        await Promise.all(running);
        for (const [at, call] of calls.entries()) running[at] ??= setup.run(call);
        const done = await Promise.all(running);
        for (const [at, request] of done.entries()) {
          const call = calls[at] ?? {};
          assert.deepEqual(getTexts(request, call.choices), await runAlone(call));
        }
        assert.equal(setup.scheduler.health().busySequences, 0);
        assert.equal(setup.model.activeSamplers, 0);
      },
    );
    await fc.assert(property);
  });
});
