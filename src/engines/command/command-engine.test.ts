import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { EngineEvent } from '../../core/event.ts';
import type { EngineCapabilities, EngineRequest, TextEngine } from '../engine.ts';
import { createCommandEngine } from './command-engine.ts';
import type { CommandServer, ProgramUp } from './command-server.ts';

const CAPABILITIES: EngineCapabilities = {
  input: 'chat',
  logprobs: false,
  grammar: false,
  phases: false,
  cache: false,
  choicesMax: 1,
};

const REQUEST: EngineRequest = {
  id: 'r',
  owner: { workspace: 'w', key: 'k' },
  input: { type: 'messages', messages: [] },
  sampling: {},
  stop: { strings: [], tokens: [] },
  choices: 1,
  phases: [],
};

const BROKEN = new ServiceError('upstream-failed', 'The upstream failed on this request.');
const text = (word: string): readonly EngineEvent[] => [{ type: 'text', choice: 0, text: word, tokens: 1, phase: 0 }];

/** What the program of one start does with each call, in order: words it says, and whether it breaks off then. */
interface Behaviour {
  readonly refuses?: ServiceError;
  readonly says?: readonly string[];
  readonly breaks?: boolean;
  /** It dies with the call that breaks or is refused. */
  readonly dies?: boolean;
}

/** A server whose programs behave as planned, one after the other. */
const room = (plans: readonly Behaviour[]) => {
  let number = 0;
  let isUp = false;
  let isStopped = false;
  const closed: string[] = [];
  const made: string[] = [];
  const ups = plans.map((_, index): ProgramUp => ({ url: `http://127.0.0.1:${index}`, apiKey: `key ${index}` }));
  const server: CommandServer = {
    async ready(signal) {
      signal?.throwIfAborted();
      const up = ups[number];
      if (up === undefined) throw new ServiceError('overloaded', 'none is left');
      isUp = true;
      return up;
    },
    async gone(up) {
      if (up === ups[number] && !plans[number]?.dies) return false;
      if (up === ups[number]) number++;
      return true;
    },
    get state() {
      return isStopped ? 'failing' : isUp ? 'ready' : 'stopped';
    },
    pid: undefined,
    async stop() {
      isStopped = true;
    },
  };
  const engineAt = (url: string, apiKey: string): TextEngine => {
    made.push(`${url} ${apiKey}`);
    const { refuses, says = [], breaks } = plans[ups.findIndex((up) => up.url === url)] ?? {};
    const one = async <T>(value: T): Promise<T> => {
      if (refuses) throw refuses;
      return value;
    };
    return {
      state: 'ready',
      capabilities: { ...CAPABILITIES, choicesMax: 4 },
      start: () =>
        one({
          batches: (async function* () {
            for (const word of says) yield text(word);
            if (breaks) throw BROKEN;
          })(),
        }),
      model: () => one({ contextTokens: 1, vocabularySize: 1, specialTokens: [], bosToken: '', eosToken: url }),
      countTokens: () => one(3),
      tokenize: () => one([]),
      embeddings: { dimensions: () => one(2), embed: () => one({ vectors: [[1, 0]], tokens: 1 }) },
      async close() {
        closed.push(url);
      },
    };
  };
  const engine = createCommandEngine({
    server,
    engineAt,
    capabilities: CAPABILITIES,
    hasEmbeddings: true,
    hasRanking: true,
  });
  return { engine, closed, made, state: () => isStopped };
};

const answer = async (engine: TextEngine, signal = new AbortController().signal): Promise<string> => {
  const { batches } = await engine.start(REQUEST, signal);
  let said = '';
  try {
    for await (const batch of batches) for (const event of batch) if (event.type === 'text') said += event.text;
  } catch (error) {
    assert.ok(error instanceof ServiceError);
    return `${said} ${error.kind}`;
  }
  return said;
};

describe('a program as an engine', () => {
  it('is what was said of it until it is up, and what its engine says from then on', async () => {
    const { engine, made } = room([{ says: ['a'] }]);
    assert.deepEqual([engine.state, engine.capabilities.choicesMax], ['starting', 1]);
    assert.equal(await answer(engine), 'a');
    assert.equal(await engine.countTokens({ type: 'tokens', tokens: [] }), 3);
    assert.deepEqual([engine.state, engine.capabilities.choicesMax], ['ready', 4]);
    assert.deepEqual(made, ['http://127.0.0.1:0 key 0']);
  });

  it('fails an answer that its program takes with it, and gives the next one by the new program', async () => {
    const { engine, closed } = room([{ says: ['half'], breaks: true, dies: true }, { says: ['whole'] }]);
    assert.equal(await answer(engine), 'half engine-failed');
    assert.equal(await answer(engine), 'whole');
    assert.deepEqual(closed, ['http://127.0.0.1:0']);
  });

  it('starts once more what died before it said anything, taken in or not', async () => {
    assert.equal(await answer(room([{ breaks: true, dies: true }, { says: ['whole'] }]).engine), 'whole');
    assert.equal(await answer(room([{ refuses: BROKEN, dies: true }, { says: ['whole'] }]).engine), 'whole');
    assert.equal(
      await answer(
        room([
          { breaks: true, dies: true },
          { breaks: true, dies: true },
        ]).engine,
      ),
      ' engine-failed',
    );
  });

  it('passes on what a living program did, and what says nothing about the program', async () => {
    assert.equal(await answer(room([{ says: ['half'], breaks: true }]).engine), 'half upstream-failed');
    const busy = new ServiceError('overloaded', 'busy');
    await assert.rejects(answer(room([{ refuses: busy, dies: true }, { says: ['whole'] }]).engine), busy);
  });

  it('asks once more for what has one answer', async () => {
    const { engine } = room([{ refuses: BROKEN, dies: true }, {}]);
    assert.equal((await engine.model()).eosToken, 'http://127.0.0.1:1');
    const { embeddings, ranking } = room([{ refuses: BROKEN, dies: true }, {}]).engine;
    assert.equal(await embeddings?.dimensions(), 2);
    assert.deepEqual((await embeddings?.embed({ ...REQUEST, inputs: [] }, new AbortController().signal))?.vectors, [
      [1, 0],
    ]);
    const ranked = ranking?.rank(
      { ...REQUEST, query: { text: '', field: '' }, documents: [] },
      new AbortController().signal,
    );
    await assert.rejects(ranked ?? Promise.resolve(), { kind: 'unsupported' });
  });

  it('stops its program when it is closed', async () => {
    const { engine, closed, state } = room([{ says: ['a'] }]);
    await answer(engine);
    await engine.close();
    assert.ok(state());
    assert.deepEqual(closed, ['http://127.0.0.1:0']);
  });
});
