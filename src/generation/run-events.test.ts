import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { EngineEvent, GenerationEvent } from '../core/event.ts';
import { runEvents, type Stages } from './run-events.ts';
import type { HoldBatch } from './stages/check-result.ts';

const text = (value: string): EngineEvent => ({ type: 'text', choice: 0, text: value, tokens: 1, phase: 0 });
const END: readonly EngineEvent[] = [
  { type: 'choice-end', choice: 0, reason: 'stop' },
  { type: 'end', usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 2 } },
];

/** Creates a run with a stage that holds the batch for some texts. */
function createTestRun(
  batches: readonly (readonly EngineEvent[])[],
  heldChecks: Readonly<Record<string, Promise<void>>>,
) {
  const records: string[] = [];
  const caller = new AbortController();
  const context: RequestContext = {
    requestId: 'r',
    owner: { workspace: 'w', region: 'cn-beijing', keyId: 'k' },
    signal: caller.signal,
    log: { add: () => undefined, warn: () => undefined },
  };
  const createStages = (_: number, holdBatch: HoldBatch): Stages => [
    {
      push(event, emit) {
        const check = event.type === 'text' ? heldChecks[event.text] : undefined;
        if (check) holdBatch(check);
        if (event.type === 'text' && event.text === 'broken') throw new ServiceError('engine-failed', 'broken');
        emit(event);
      },
      end: () => undefined,
    },
  ];
  const source = async function* () {
    yield* batches;
  };
  const events = runEvents(
    { promptTokens: 1, batches: source() },
    {
      choices: 1,
      createStages,
      context,
      stopEngine: () => void records.push('stop'),
      onFinish: (_, outcome) => void records.push(outcome),
    },
  )[Symbol.asyncIterator]();
  return { events, books: records, caller };
}

const listOutputs = (step: IteratorResult<readonly GenerationEvent[], unknown>): string[] =>
  step.done === true ? [] : step.value.map((event) => (event.type === 'block-delta' ? event.text : event.type));
const waitForEventLoopTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a batch that is held', () => {
  it('delays itself and later batches, but no earlier ones', async () => {
    const check = Promise.withResolvers<void>();
    const { events, books } = createTestRun([[text('a')], [text('b')], END], { b: check.promise });
    assert.deepEqual(listOutputs(await events.next()), ['start', 'block-start', 'a']);
    let isDone = false;
    const next = events.next().finally(() => (isDone = true));
    await waitForEventLoopTurn();
    assert.equal(isDone, false);
    check.resolve();
    assert.deepEqual(listOutputs(await next), ['b']);
    assert.deepEqual(listOutputs(await events.next()), ['block-end', 'choice-end', 'end']);
    assert.equal((await events.next()).done, true);
    assert.deepEqual(books, ['finished']);
  });

  it('ends the run with the error of a failed check and is not emitted', async () => {
    const wrong = new ServiceError('engine-failed', 'not what it should be');
    const { events, books } = createTestRun([[text('a'), text('b'), ...END]], { a: Promise.reject(wrong) });
    await assert.rejects(events.next(), wrong);
    assert.deepEqual(books, ['failed', 'stop']);
  });

  it('ignores a check that fails after the batch has failed', async () => {
    const check = Promise.withResolvers<void>();
    const { events } = createTestRun([[text('a'), text('broken')]], { a: check.promise });
    await assert.rejects(events.next(), /broken/);
    check.reject(new Error('too late for anybody'));
    await waitForEventLoopTurn();
  });

  it('waits for several checks', async () => {
    const checks = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const { events } = createTestRun([[text('a'), text('b')], END], { a: checks[0].promise, b: checks[1].promise });
    const next = events.next();
    checks[1].resolve();
    await waitForEventLoopTurn();
    checks[0].resolve();
    assert.deepEqual(listOutputs(await next), ['start', 'block-start', 'a', 'b']);
  });

  it('costs no extra promise turns when nothing is held', async () => {
    const countPromiseTurns = async (heldChecks: Readonly<Record<string, Promise<void>>>): Promise<number> => {
      const { events } = createTestRun([[text('a')], END], heldChecks);
      let turns = 0;
      let isDone = false;
      const next = events.next().finally(() => (isDone = true));
      for (; !isDone; turns++) await Promise.resolve();
      await next;
      return turns;
    };
    const plain = await countPromiseTurns({});
    assert.ok(plain <= 8, `${plain} turns`);
    assert.ok((await countPromiseTurns({ a: Promise.resolve() })) > plain);
  });
});
