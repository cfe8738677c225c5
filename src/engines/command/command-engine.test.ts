import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { EngineEvent } from '../../core/event.ts';
import type { EngineCapabilities, EngineRequest, TextEngine } from '../engine.ts';
import { createCommandEngine } from './command-engine.ts';
import type { SupervisedProcess } from '../supervisor.ts';
import type { RunningProgram } from './command-server.ts';

const CAPABILITIES: EngineCapabilities = {
  input: 'chat',
  logprobs: false,
  promptLogprobs: false,
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

/** Behavior of one program for each call in order: its output, and whether it breaks off then. */
interface ProgramBehavior {
  readonly refuses?: ServiceError;
  readonly outputLines?: readonly string[];
  readonly breaks?: boolean;
  /** The program dies with the call that breaks or is refused. */
  readonly dies?: boolean;
}

/** Creates a fake server whose programs follow the plans, one after the other. */
const createTestEngine = (plans: readonly ProgramBehavior[]) => {
  let number = 0;
  let isUp = false;
  let isStopped = false;
  const closed: string[] = [];
  const made: string[] = [];
  const ups = plans.map((_, index): RunningProgram => ({ url: `http://127.0.0.1:${index}`, apiKey: `key ${index}` }));
  const server: SupervisedProcess<RunningProgram> = {
    async waitUntilReady(signal) {
      signal?.throwIfAborted();
      const up = ups[number];
      if (up === undefined) throw new ServiceError('overloaded', 'none is left');
      isUp = true;
      return up;
    },
    async confirmExit(up) {
      if (up === ups[number] && !plans[number]?.dies) return false;
      if (up === ups[number]) number++;
      return true;
    },
    get state() {
      return isStopped ? 'failing' : isUp ? 'ready' : 'stopped';
    },
    async stop() {
      isStopped = true;
    },
  };
  const engineAt = (url: string, apiKey: string): TextEngine => {
    made.push(`${url} ${apiKey}`);
    const { refuses, outputLines = [], breaks } = plans[ups.findIndex((up) => up.url === url)] ?? {};
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
            for (const word of outputLines) yield text(word);
            if (breaks) throw BROKEN;
          })(),
        }),
      loadModel: () => one({ contextTokens: 1, vocabularySize: 1, specialTokens: [], bosToken: '', eosToken: url }),
      countTokens: () => one(3),
      tokenize: () => one([]),
      embeddings: { getDimensions: () => one(2), embed: () => one({ vectors: [[1, 0]], tokens: 1 }) },
      async close() {
        closed.push(url);
      },
    };
  };
  const engine = createCommandEngine({
    server,
    createEngineAt: engineAt,
    capabilities: CAPABILITIES,
    hasEmbeddings: true,
    hasRanking: true,
  });
  return { engine, closed, made, state: () => isStopped };
};

const readAnswer = async (engine: TextEngine, signal = new AbortController().signal): Promise<string> => {
  const { batches } = await engine.start(REQUEST, signal);
  let answerText = '';
  try {
    for await (const batch of batches) for (const event of batch) if (event.type === 'text') answerText += event.text;
  } catch (error) {
    assert.ok(error instanceof ServiceError);
    return `${answerText} ${error.kind}`;
  }
  return answerText;
};

describe('command engine', () => {
  it('has the declared capabilities until the program is ready, and then those of its engine', async () => {
    const { engine, made } = createTestEngine([{ outputLines: ['a'] }]);
    assert.deepEqual([engine.state, engine.capabilities.choicesMax], ['starting', 1]);
    assert.equal(await readAnswer(engine), 'a');
    assert.equal(await engine.countTokens({ type: 'tokens', tokens: [] }), 3);
    assert.deepEqual([engine.state, engine.capabilities.choicesMax], ['ready', 4]);
    assert.deepEqual(made, ['http://127.0.0.1:0 key 0']);
  });

  it('fails an answer when its program dies, and runs the next one in the new program', async () => {
    const { engine, closed } = createTestEngine([
      { outputLines: ['half'], breaks: true, dies: true },
      { outputLines: ['whole'] },
    ]);
    assert.equal(await readAnswer(engine), 'half engine-failed');
    assert.equal(await readAnswer(engine), 'whole');
    assert.deepEqual(closed, ['http://127.0.0.1:0']);
  });

  it('restarts a request whose program died before any output, accepted or not', async () => {
    assert.equal(
      await readAnswer(createTestEngine([{ breaks: true, dies: true }, { outputLines: ['whole'] }]).engine),
      'whole',
    );
    assert.equal(
      await readAnswer(createTestEngine([{ refuses: BROKEN, dies: true }, { outputLines: ['whole'] }]).engine),
      'whole',
    );
    assert.equal(
      await readAnswer(
        createTestEngine([
          { breaks: true, dies: true },
          { breaks: true, dies: true },
        ]).engine,
      ),
      ' engine-failed',
    );
  });

  it('passes on failures of a living program, and errors that say nothing about the program', async () => {
    assert.equal(
      await readAnswer(createTestEngine([{ outputLines: ['half'], breaks: true }]).engine),
      'half upstream-failed',
    );
    const busy = new ServiceError('overloaded', 'busy');
    await assert.rejects(
      readAnswer(createTestEngine([{ refuses: busy, dies: true }, { outputLines: ['whole'] }]).engine),
      busy,
    );
  });

  it('retries calls with a single result once', async () => {
    const { engine } = createTestEngine([{ refuses: BROKEN, dies: true }, {}]);
    assert.equal((await engine.loadModel()).eosToken, 'http://127.0.0.1:1');
    const { embeddings, ranking } = createTestEngine([{ refuses: BROKEN, dies: true }, {}]).engine;
    assert.equal(await embeddings?.getDimensions(), 2);
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
    const { engine, closed, state } = createTestEngine([{ outputLines: ['a'] }]);
    await readAnswer(engine);
    await engine.close();
    assert.ok(state());
    assert.deepEqual(closed, ['http://127.0.0.1:0']);
  });
});
