import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Priority } from '../../core/context.ts';
import type { EngineRequest } from '../engine.ts';
import { createScriptedEngine, type ScriptStep } from './scripted-engine.ts';

/** Background runs have more words than live ones, so that they do not end first. */
const LIVE_WORDS = 20;
const BACKGROUND_WORDS = 200;
const createWords = (count: number): string[] => Array.from({ length: count }, (_, at) => `w${at} `);

const createRequest = (id: string, priority?: Priority): EngineRequest => ({
  id,
  owner: { workspace: 'w', key: 'k', ...(priority ? { priority } : {}) },
  input: { type: 'tokens', tokens: [1] },
  sampling: {},
  stop: { strings: [], tokens: [] },
  choices: 1,
  phases: [],
});

/** Creates an engine, and records the order of outputs and ends. */
function createTestEngine(sequences: number) {
  const outputOrder: string[] = [];
  const finishedRuns: string[] = [];
  const script = ({ owner }: EngineRequest): readonly ScriptStep[] => [
    {
      type: 'tokens',
      tokens: createWords(owner.priority === 'background' ? BACKGROUND_WORDS : LIVE_WORDS),
      perTick: 1,
    },
  ];
  const engine = createScriptedEngine({ script, sequences, onRunEnd: ({ id }) => finishedRuns.push(id) });
  const run = async (id: string, priority?: Priority, signal = new AbortController().signal): Promise<string> => {
    const { batches } = await engine.start(createRequest(id, priority), signal);
    let text = '';
    for await (const batch of batches) {
      outputOrder.push(id);
      for (const event of batch) if (event.type === 'text') text += event.text;
    }
    return text;
  };
  return { run, outputOrder, finishedRuns };
}

describe('the scripted engine', () => {
  it('gives background runs all sequences, and preempts one for a live run without losing output', async () => {
    const { run, outputOrder, finishedRuns } = createTestEngine(2);
    const backgroundRuns = [run('b1', 'background'), run('b2', 'background')];
    while (outputOrder.length < 10) await yieldToEventLoop();
    assert.equal(await run('live'), createWords(LIVE_WORDS).join(''));
    assert.deepEqual(finishedRuns, ['live'], 'the live run came later, and ended first');
    const meanwhile = outputOrder.slice(outputOrder.indexOf('live'), outputOrder.lastIndexOf('live'));
    const of = (id: string): number => meanwhile.filter((each) => each === id).length;
    // Output from before the preemption may be read a little later.
    assert.ok(of('b1') > 0 && of('b2') <= 2, `${of('b1')} and ${of('b2')} words of the background runs meanwhile`);
    const whole = createWords(BACKGROUND_WORDS).join('');
    assert.deepEqual(await Promise.all(backgroundRuns), [whole, whole]);
  });

  it('serves background runs when no live run waits', async () => {
    const { run, finishedRuns } = createTestEngine(1);
    await Promise.all([run('first'), run('behind', 'background'), run('second'), run('third')]);
    assert.deepEqual(finishedRuns, ['first', 'second', 'third', 'behind']);
  });

  it('ends a run that is canceled while preempted', async () => {
    const { run, outputOrder, finishedRuns } = createTestEngine(1);
    const caller = new AbortController();
    const backgroundRun = run('behind', 'background', caller.signal);
    while (outputOrder.length < 5) await yieldToEventLoop();
    const live = run('live');
    while (!outputOrder.includes('live')) await yieldToEventLoop();
    caller.abort();
    await assert.rejects(backgroundRun, { kind: 'cancelled' });
    await live;
    assert.deepEqual(finishedRuns, ['behind', 'live']);
  });

  it('interrupts a run with several choices for another workspace, and continues it later', async () => {
    let now = 0;
    const clock = { monotonic: () => (now += 10) };
    const finished: string[] = [];
    const engine = createScriptedEngine({
      script: () => [{ type: 'tokens', tokens: createWords(BACKGROUND_WORDS), perTick: 1 }],
      sequences: 2,
      clock,
    });
    const run = async (workspace: string, choices: number, maxTokens: number): Promise<number> => {
      const request = { ...createRequest(workspace), owner: { workspace, key: 'k' }, choices, maxTokens };
      const { batches } = await engine.start(request, new AbortController().signal);
      let words = 0;
      for await (const batch of batches) {
        for (const event of batch) if (event.type === 'text') words += event.tokens;
      }
      finished.push(workspace);
      return words;
    };
    const greedy = run('a', 2, BACKGROUND_WORDS);
    assert.equal(await run('b', 1, 3), 3);
    assert.deepEqual(finished, ['b'], 'it came later, and ended first');
    assert.equal(await greedy, 2 * BACKGROUND_WORDS);
  });

  it('preempts a live run for a reserved one, and resumes it before waiting runs', async () => {
    const { run, outputOrder, finishedRuns } = createTestEngine(1);
    const live = run('live');
    const waiting = run('waiting');
    while (outputOrder.length < 5) await yieldToEventLoop();
    assert.equal(await run('reserved', 'reserved'), createWords(LIVE_WORDS).join(''));
    assert.deepEqual(finishedRuns, ['reserved'], 'the reserved run came last, and ended first');
    assert.equal(await live, createWords(LIVE_WORDS).join(''));
    assert.equal(await waiting, createWords(LIVE_WORDS).join(''));
    assert.deepEqual(finishedRuns, ['reserved', 'live', 'waiting']);
  });
});
