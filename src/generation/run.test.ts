import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { EngineEvent, GenerationEvent } from '../core/event.ts';
import { runEvents } from './run.ts';
import type { Stages } from './run.ts';
import type { Verify } from './stages/verdict.ts';

const text = (value: string): EngineEvent => ({ type: 'text', choice: 0, text: value, tokens: 1, phase: 0 });
const END: readonly EngineEvent[] = [
  { type: 'choice-end', choice: 0, reason: 'stop' },
  { type: 'end', usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 2 } },
];

/** A run whose stage wants some of its texts seen by somebody else. */
function createRun(batches: readonly (readonly EngineEvent[])[], seen: Readonly<Record<string, Promise<void>>>) {
  const books: string[] = [];
  const caller = new AbortController();
  const context: RequestContext = {
    requestId: 'r',
    owner: { workspace: 'w', region: 'cn-beijing', keyId: 'k' },
    signal: caller.signal,
    log: { add: () => undefined, warn: () => undefined },
  };
  const stagesOf = (_: number, verify: Verify): Stages => [
    {
      push(event, emit) {
        const verdict = event.type === 'text' ? seen[event.text] : undefined;
        if (verdict) verify(verdict);
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
      stagesOf,
      context,
      stop: () => void books.push('stop'),
      over: (_, how) => void books.push(how),
    },
  )[Symbol.asyncIterator]();
  return { events, books, caller };
}

const told = (step: IteratorResult<readonly GenerationEvent[], unknown>): string[] =>
  step.done === true ? [] : step.value.map((event) => (event.type === 'block-delta' ? event.text : event.type));
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('what has to be seen first', () => {
  it('holds its batch back, and all behind it, but nothing before it', async () => {
    const seen = Promise.withResolvers<void>();
    const { events, books } = createRun([[text('a')], [text('b')], END], { b: seen.promise });
    assert.deepEqual(told(await events.next()), ['start', 'block-start', 'a']);
    let isTold = false;
    const next = events.next().finally(() => (isTold = true));
    await turn();
    assert.equal(isTold, false);
    seen.resolve();
    assert.deepEqual(told(await next), ['b']);
    assert.deepEqual(told(await events.next()), ['block-end', 'choice-end', 'end']);
    assert.equal((await events.next()).done, true);
    assert.deepEqual(books, ['finished']);
  });

  it('ends the run with its error, and not a word of the batch is told', async () => {
    const wrong = new ServiceError('engine-failed', 'not what it should be');
    const { events, books } = createRun([[text('a'), text('b'), ...END]], { a: Promise.reject(wrong) });
    await assert.rejects(events.next(), wrong);
    assert.deepEqual(books, ['failed', 'stop']);
  });

  it('is left alone where the batch breaks by itself, also when it turns out wrong later', async () => {
    const seen = Promise.withResolvers<void>();
    const { events } = createRun([[text('a'), text('broken')]], { a: seen.promise });
    await assert.rejects(events.next(), /broken/);
    seen.reject(new Error('too late for anybody'));
    await turn();
  });

  it('may be several', async () => {
    const seen = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const { events } = createRun([[text('a'), text('b')], END], { a: seen[0].promise, b: seen[1].promise });
    const next = events.next();
    seen[1].resolve();
    await turn();
    seen[0].resolve();
    assert.deepEqual(told(await next), ['start', 'block-start', 'a', 'b']);
  });

  it('costs nothing where there is nothing: a batch that is there is told after as many turns of promises', async () => {
    const turnsOf = async (seen: Readonly<Record<string, Promise<void>>>): Promise<number> => {
      const { events } = createRun([[text('a')], END], seen);
      let turns = 0;
      let isTold = false;
      const next = events.next().finally(() => (isTold = true));
      for (; !isTold; turns++) await Promise.resolve();
      await next;
      return turns;
    };
    const plain = await turnsOf({});
    assert.ok(plain <= 8, `${plain} turns`);
    assert.ok((await turnsOf({ a: Promise.resolve() })) > plain);
  });
});
