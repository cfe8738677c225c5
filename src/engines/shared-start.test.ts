import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeEngine, createTestRequest, type FakeOutcome } from './pool/__fixtures__/fake-engine.ts';
import { createManualClock } from './pool/__fixtures__/manual-clock.ts';
import type { EngineRequest } from './engine.ts';
import { shareSequences } from './shared-start.ts';

const NEVER = new AbortController().signal;

const createRequest = (workspace: string, choices = 1): EngineRequest => ({
  ...createTestRequest(),
  owner: { workspace, key: 'k' },
  choices,
});

/** Lets everything that is due run. */
const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function createTestEngine(sequences: number) {
  const setup = { outcome: { type: 'answer' } as FakeOutcome, started: [] as EngineRequest[] };
  const inner = createFakeEngine({
    outcome: () => setup.outcome,
    onStart: (request) => void setup.started.push(request),
  });
  const engine = shareSequences(inner, { sequences, workspaceShare: 0.5 }, createManualClock());
  return { setup, inner, engine };
}

describe('shareSequences', () => {
  it('leaves a sequence to other workspaces, and starts what waits when an answer has ended, failed or been left', async () => {
    const { setup, engine } = createTestEngine(3);
    setup.outcome = { type: 'hang', at: 'mid-answer' };
    const caller = new AbortController();
    await engine.start(createRequest('a'), caller.signal);
    const second = await engine.start(createRequest('a'), NEVER);
    const waiting = engine.start(createRequest('a'), NEVER);
    await yieldToEventLoop();
    assert.equal(setup.started.length, 2);
    const other = await engine.start(createRequest('b'), NEVER);
    assert.equal(setup.started.length, 3);

    caller.abort(new Error('gone'));
    const third = await waiting;
    setup.outcome = { type: 'fail', at: 'mid-answer', kind: 'upstream-failed' };
    const failing = engine.start(createRequest('a'), NEVER);
    await second.batches[Symbol.asyncIterator]().return?.();
    await assert.rejects(Array.fromAsync((await failing).batches), { kind: 'upstream-failed' });
    setup.outcome = { type: 'fail', at: 'start', kind: 'upstream-failed' };
    await assert.rejects(engine.start(createRequest('a'), NEVER), { kind: 'upstream-failed' });
    setup.outcome = { type: 'answer' };
    for await (const _ of (await engine.start(createRequest('a'), NEVER)).batches);
    await engine.start(createRequest('a'), NEVER);
    for (const { batches } of [third, other]) await batches[Symbol.asyncIterator]().return?.();
  });

  it('starts what waits when the server has ended an answer that nobody reads', async () => {
    const { setup, engine } = createTestEngine(1);
    const unread = await engine.start(createRequest('a'), NEVER);
    await engine.start(createRequest('b'), NEVER);
    assert.equal(setup.started.length, 2);
    assert.equal((await Array.fromAsync(unread.batches)).flat().at(-1)?.type, 'end');
  });

  it('sends each choice of a request as its own call', async () => {
    const { setup, engine } = createTestEngine(2);
    const { batches } = await engine.start(createRequest('a', 3), NEVER);
    const events = (await Array.fromAsync(batches)).flat();
    assert.deepEqual(
      setup.started.map(({ choices }) => choices),
      [1, 1, 1],
    );
    assert.deepEqual(new Set(events.flatMap((event) => ('choice' in event ? [event.choice] : []))), new Set([0, 1, 2]));
  });

  it('shows what the engine reports at the time', () => {
    const { inner, engine } = createTestEngine(2);
    assert.equal(engine.capabilities, inner.capabilities);
    Object.assign(inner, { state: 'failing', capabilities: { ...inner.capabilities, choicesMax: 1 } });
    assert.deepEqual([engine.state, engine.capabilities.choicesMax], ['failing', 1]);
  });
});
