import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Priority } from '../../core/context.ts';
import type { EngineRequest } from '../engine.ts';
import { createScriptedEngine } from './scripted-engine.ts';
import type { Step } from './scripted-engine.ts';

/** Background runs say more than live ones, and so do not end before them. */
const LIVE_WORDS = 20;
const BEHIND_WORDS = 200;
const words = (count: number): string[] => Array.from({ length: count }, (_, at) => `w${at} `);

const request = (id: string, priority?: Priority): EngineRequest => ({
  id,
  owner: { workspace: 'w', key: 'k', ...(priority ? { priority } : {}) },
  input: { type: 'tokens', tokens: [1] },
  sampling: {},
  stop: { strings: [], tokens: [] },
  choices: 1,
  phases: [],
});

/** An engine, and what was said in which order. */
function room(sequences: number) {
  const said: string[] = [];
  const ended: string[] = [];
  const script = ({ owner }: EngineRequest): readonly Step[] => [
    { type: 'tokens', tokens: words(owner.priority === 'background' ? BEHIND_WORDS : LIVE_WORDS), perTick: 1 },
  ];
  const engine = createScriptedEngine({ script, sequences, onRunEnd: ({ id }) => ended.push(id) });
  const run = async (id: string, priority?: Priority, signal = new AbortController().signal): Promise<string> => {
    const { batches } = await engine.start(request(id, priority), signal);
    let text = '';
    for await (const batch of batches) {
      said.push(id);
      for (const event of batch) if (event.type === 'text') text += event.text;
    }
    return text;
  };
  return { run, said, ended };
}

describe('the scripted engine', () => {
  it('gives background runs all sequences, and sets one aside for a live run, which loses nothing', async () => {
    const { run, said, ended } = room(2);
    const behind = [run('b1', 'background'), run('b2', 'background')];
    while (said.length < 10) await turn();
    assert.equal(await run('live'), words(LIVE_WORDS).join(''));
    assert.deepEqual(ended, ['live'], 'it came later, and ended first');
    const meanwhile = said.slice(said.indexOf('live'), said.lastIndexOf('live'));
    const of = (id: string): number => meanwhile.filter((each) => each === id).length;
    // What it had said before it was set aside may be read a little later.
    assert.ok(of('b1') > 0 && of('b2') <= 2, `${of('b1')} and ${of('b2')} words of the others beside it`);
    const whole = words(BEHIND_WORDS).join('');
    assert.deepEqual(await Promise.all(behind), [whole, whole]);
  });

  it('works for background runs when no live one waits', async () => {
    const { run, ended } = room(1);
    await Promise.all([run('first'), run('behind', 'background'), run('second'), run('third')]);
    assert.deepEqual(ended, ['first', 'second', 'third', 'behind']);
  });

  it('ends a run that is cancelled while it is set aside', async () => {
    const { run, said, ended } = room(1);
    const caller = new AbortController();
    const behind = run('behind', 'background', caller.signal);
    while (said.length < 5) await turn();
    const live = run('live');
    while (!said.includes('live')) await turn();
    caller.abort();
    await assert.rejects(behind, { kind: 'cancelled' });
    await live;
    assert.deepEqual(ended, ['behind', 'live']);
  });

  it('serves a reserved run at once, at the cost of a live one, which loses nothing and goes on before others begin', async () => {
    const { run, said, ended } = room(1);
    const live = run('live');
    const waiting = run('waiting');
    while (said.length < 5) await turn();
    assert.equal(await run('reserved', 'reserved'), words(LIVE_WORDS).join(''));
    assert.deepEqual(ended, ['reserved'], 'it came last, and ended first');
    assert.equal(await live, words(LIVE_WORDS).join(''));
    assert.equal(await waiting, words(LIVE_WORDS).join(''));
    assert.deepEqual(ended, ['reserved', 'live', 'waiting']);
  });
});
