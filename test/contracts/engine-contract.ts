import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ServiceError } from '../../src/core/error.ts';
import type { EngineEvent, TokenLogprob } from '../../src/core/event.ts';
import type { Grammar } from '../../src/core/grammar.ts';
import type { GenerationPhase } from '../../src/core/prompt.ts';
import type {
  EngineCapabilities,
  EngineInput,
  EngineRequest,
  EngineRun,
  TextEngine,
} from '../../src/engines/engine.ts';
import { until } from '../until.ts';

/**
 * Features that an engine declares. The contract tests only behavior that follows from them, and fails when the engine
 * reports other capabilities.
 */
export interface EngineFeatures {
  readonly input: EngineCapabilities['input'];
  readonly logprobs: boolean;
  readonly promptLogprobs: boolean;
  readonly grammar: boolean;
  readonly phases: boolean;
  /** Returns the tokens of an input, and the number of prompt tokens before the run starts. */
  readonly tokens: boolean;
  readonly embeddings: boolean;
  /** Reports which stop string matched. */
  readonly reportsStopString: boolean;
  /** Queues requests in Parley, so that live requests precede background ones; otherwise the server queues them. */
  readonly hasQueue: boolean;
  /** Error kind of a request whose engine fails. */
  readonly failureKind: 'engine-failed' | 'upstream-failed';
}

/** Features of the embedded engine and of its replacements in tests. */
export const EMBEDDED_FEATURES: EngineFeatures = {
  input: 'prompt',
  logprobs: true,
  promptLogprobs: true,
  grammar: true,
  phases: true,
  tokens: true,
  embeddings: true,
  reportsStopString: true,
  hasQueue: true,
  failureKind: 'engine-failed',
};

/** More alternatives than a grammar holds. */
const WIDE_GRAMMAR: Grammar = {
  type: 'schema',
  schema: { anyOf: Array.from({ length: 300 }, (_, at) => ({ type: 'integer', minimum: at })) },
  field: 'response_format',
};

/** An engine and what the contract needs to know about it. */
export interface EngineUnderTest {
  readonly engine: TextEngine;
  readonly contextTokens: number;
  /** Maximum number of concurrent runs. */
  readonly sequences: number;
  /** Tokens of a long answer: more than any buffer between engine and reader holds, if the engine is fast enough. */
  readonly longTokens: number;
  /** Returns the number of busy sequences. */
  countBusy(): Promise<number>;
  /** A request that fails in the middle of its answer after `fail` was called. */
  readonly failing: {
    readonly text: string;
    fail(): void;
    /** Restarts the engine, if it does not restart itself. */
    restart?(): Promise<void>;
  };
  /** A grammar that holds less than its schema, if the engine's compiler needs a special one. */
  readonly wideGrammar?: Grammar;
  /** A grammar that the engine rejects, if it accepts a schema with an unresolvable reference. */
  readonly invalidGrammar?: Grammar;
  close(): Promise<void>;
}

/**
 * Time in which a cancelled run must release its sequence, in ms: one tick, on a machine that runs other tests. Much
 * less than an answer up to the end of the context takes.
 */
const RELEASE_MS_MAX = 5_000;

const STORY = 'Tell me a long story about a lighthouse keeper and his cat.';

/** Creates one user message, for engines that render the chat template themselves. */
export const createUserMessage = (text: string): EngineInput => ({
  type: 'messages',
  messages: [{ role: 'user', content: [{ type: 'text', text }] }],
});

/** Creates one user message in ChatML. */
export const createChatMlInput = (text: string): EngineInput => ({
  type: 'segments',
  segments: [
    { text: '<|im_start|>', special: true },
    { text: `user\n${text}`, special: false },
    { text: '<|im_end|>', special: true },
    { text: '\n', special: false },
    { text: '<|im_start|>', special: true },
    { text: 'assistant\n', special: false },
  ],
});

/** Creates a greedy request with a seed, which has the same answer each time. */
export const createEngineRequest = (text: string, fields: Partial<EngineRequest> = {}): EngineRequest => ({
  id: 'contract',
  owner: { workspace: 'w', key: 'k' },
  input: createChatMlInput(text),
  sampling: { temperature: 0, seed: 1 },
  stop: { strings: [], tokens: [] },
  choices: 1,
  phases: [],
  ...fields,
});

export interface EngineAnswer {
  readonly engineRun: EngineRun;
  readonly events: readonly EngineEvent[];
  readonly text: string;
}

export const joinText = (events: readonly EngineEvent[], choice = 0): string =>
  events.map((event) => (event.type === 'text' && event.choice === choice ? event.text : '')).join('');

/** Starts a run and reads it to its end. */
export async function runToEnd(engine: TextEngine, request: EngineRequest): Promise<EngineAnswer> {
  const engineRun = await engine.start(request, new AbortController().signal);
  const events = (await Array.fromAsync(engineRun.batches)).flat();
  return { engineRun: engineRun, events, text: joinText(events) };
}

export const listPromptLogprobs = (events: readonly EngineEvent[], choice = 0): readonly TokenLogprob[] =>
  events.flatMap((event) => (event.type === 'prompt' && event.choice === choice ? event.logprobs : []));

const getEndEvent = (events: readonly EngineEvent[]) => {
  const last = events.at(-1);
  assert.ok(last?.type === 'end', 'the last event is the end');
  return last;
};

/** Runs the contract of every engine. */
export function describeEngineContract(
  name: string,
  features: EngineFeatures,
  open: () => Promise<EngineUnderTest>,
): void {
  describe(`engine contract: ${name}`, () => {
    let subject: EngineUnderTest;
    let engine: TextEngine;
    before(async () => {
      subject = await open();
      engine = subject.engine;
    });
    after(() => subject.close());

    /** Registers a test that applies only to engines with a declared feature. */
    const itIf = (condition: boolean, title: string, test: () => Promise<void>): void => {
      if (condition) it(title, test);
    };

    const createRequest = (text: string, fields: Partial<EngineRequest> = {}): EngineRequest =>
      createEngineRequest(text, {
        ...(features.input === 'chat' ? { input: createUserMessage(text) } : {}),
        ...fields,
      });

    const waitUntilFree = (): Promise<true> =>
      until('all sequences are free', { timeoutMs: RELEASE_MS_MAX }, async () =>
        (await subject.countBusy()) === 0 ? true : undefined,
      );

    const assertStillWorks = async (): Promise<void> => {
      const { events } = await runToEnd(engine, createRequest(STORY, { maxTokens: 2 }));
      getEndEvent(events);
    };

    it('has the declared capabilities', async () => {
      await engine.loadModel();
      const { input, logprobs, promptLogprobs, grammar, phases } = engine.capabilities;
      assert.deepEqual(
        { input, logprobs: logprobs !== false, promptLogprobs, grammar, phases },
        {
          input: features.input,
          logprobs: features.logprobs,
          promptLogprobs: features.promptLogprobs,
          grammar: features.grammar,
          phases: features.phases,
        },
      );
    });

    it('emits text, then the end of each choice, then one end event', async () => {
      const { events } = await runToEnd(engine, createRequest(STORY, { maxTokens: 8 }));
      getEndEvent(events);
      const types = events.map(({ type }) => type);
      assert.equal(types.filter((type) => type === 'end').length, 1);
      assert.equal(types.filter((type) => type === 'choice-end').length, 1);
      assert.equal(types.indexOf('choice-end'), types.length - 2);
      assert.ok(types.slice(0, -2).every((type) => type === 'text'));
    });

    itIf(features.tokens, 'returns the tokens that it counts', async () => {
      const { input } = createRequest(STORY);
      const tokens = await engine.tokenize(input);
      assert.equal(tokens.length, await engine.countTokens(input));
      assert.match(tokens.map(({ text }) => text).join(''), /Tell me a long story about a lighthouse keeper/);
      assert.ok(tokens.every(({ id }) => Number.isInteger(id) && id >= 0));
    });

    itIf(
      features.embeddings,
      'embeds equal texts as equal vectors and different texts as different vectors, and counts their tokens',
      async () => {
        const { embeddings } = engine;
        assert.ok(embeddings, 'the engine supports embeddings');
        const { signal } = new AbortController();
        const embed = (...texts: string[]) =>
          embeddings.embed(
            {
              id: 'contract',
              owner: { workspace: 'w', key: 'k' },
              inputs: texts.map((text, at) => ({ text, field: `input[${at}]` })),
            },
            signal,
          );
        const { vectors, tokens } = await embed(STORY, 'A cat.', STORY);
        const dimensions = await embeddings.getDimensions();
        assert.deepEqual(
          vectors.map((vector) => vector.length),
          [dimensions, dimensions, dimensions],
        );
        assert.deepEqual(vectors[2], vectors[0]);
        assert.notDeepEqual(vectors[1], vectors[0]);
        assert.deepEqual((await embed(STORY)).vectors, [vectors[0]]);
        assert.ok(tokens >= 2 * 12 + 2 && tokens < 200, `${tokens} tokens`);
        await assert.rejects(embed('ok', ''), (error) => {
          assert.ok(error instanceof ServiceError);
          assert.deepEqual([error.kind, error.param], ['invalid-request', 'input[1]']);
          return true;
        });
        await assert.rejects(embed('word '.repeat(60_000)), { kind: 'invalid-request', param: 'input[0]' });
        await assert.rejects(
          embeddings.embed({ id: 'x', owner: { workspace: 'w', key: 'k' }, inputs: [] }, AbortSignal.abort()),
          { kind: 'cancelled' },
        );
      },
    );

    it('counts its usage, and knows the number of prompt tokens before it starts', async () => {
      const request = createRequest(STORY, { maxTokens: 12 });
      const { engineRun, events } = await runToEnd(engine, request);
      const { usage } = getEndEvent(events);
      if (features.tokens) {
        assert.equal(engineRun.promptTokens, await engine.countTokens(request.input));
        assert.equal(usage.promptTokens, engineRun.promptTokens);
      }
      assert.ok(usage.promptTokens > 0);
      assert.equal(usage.completionTokens, 12);
      assert.equal(
        events.reduce((sum, event) => sum + (event.type === 'text' ? event.tokens : 0), 0),
        12,
      );
      assert.equal(usage.reasoningTokens, undefined);
      assert.ok(usage.cachedTokens <= usage.promptTokens);
    });

    it('ends at maxTokens with reason length, and reports a lowered maxTokens', async () => {
      const { events } = await runToEnd(engine, createRequest(STORY, { maxTokens: 5 }));
      assert.deepEqual(events.at(-2), { type: 'choice-end', choice: 0, reason: 'length' });
      if (!features.tokens) return;
      const oversized = createRequest(STORY, { maxTokens: subject.contextTokens * 2 });
      const engineRun = await engine.start(oversized, new AbortController().signal);
      assert.equal(engineRun.maxTokens, subject.contextTokens - (engineRun.promptTokens ?? 0));
      for await (const batch of engineRun.batches) if (batch.length > 0) break;
      await waitUntilFree();
    });

    it('ends exactly before a stop string and reports it', async () => {
      const full = await runToEnd(engine, createRequest(STORY, { maxTokens: 30 }));
      const middle = Math.floor(full.text.length / 2);
      const stop = full.text.slice(middle, middle + 4);
      const { text, events } = await runToEnd(
        engine,
        createRequest(STORY, { maxTokens: 30, stop: { strings: ['never in it', stop], tokens: [] } }),
      );
      assert.equal(text, full.text.slice(0, full.text.indexOf(stop)));
      const stopField = features.reportsStopString ? { stop } : {};
      assert.deepEqual(events.at(-2), { type: 'choice-end', choice: 0, reason: 'stop', ...stopField });
    });

    itIf(
      features.phases,
      'leaves a phase exactly where a trigger matches, and continues in the phase of the trigger',
      async () => {
        const full = await runToEnd(engine, createRequest(STORY, { maxTokens: 30 }));
        const middle = Math.floor(full.text.length / 2);
        const word = full.text.slice(middle, middle + 4);
        const phases: GenerationPhase[] = [
          { kind: 'answer', triggers: [{ pattern: RegExp.escape(word), phase: 2 }] },
          { kind: 'answer', until: { tokens: 2 } },
          { kind: 'call', until: { tokens: 3 }, nextPhase: 1 },
        ];
        const { events } = await runToEnd(
          engine,
          createRequest(STORY, { phases, ...(features.logprobs ? { logprobs: { top: 0 } } : {}) }),
        );
        const texts = events.filter((event) => event.type === 'text');
        const joinPhaseText = (wantedPhase: number): string =>
          texts.map(({ phase, text }) => (phase === wantedPhase ? text : '')).join('');
        assert.equal(joinPhaseText(0), full.text.slice(0, full.text.indexOf(word) + word.length));
        assert.ok(joinPhaseText(1) !== '' && joinPhaseText(2) !== '');
        assert.deepEqual(
          texts.map(({ phase }) => phase).filter((phase, at, all) => phase !== all[at - 1]),
          [0, 2, 1],
        );
        assert.ok(
          !features.logprobs || texts.every(({ phase, logprobs }) => (phase === 2) === (logprobs === undefined)),
          'only answer phases have log probabilities',
        );
        assert.deepEqual(events.at(-2), { type: 'choice-end', choice: 0, reason: 'length' });
        assert.equal(getEndEvent(events).usage.reasoningTokens, undefined);
      },
    );

    itIf(
      features.phases,
      'thinks separately from the answer, within its budget, and counts the reasoning tokens',
      async () => {
        const phases: GenerationPhase[] = [{ kind: 'thought', until: { tokens: 4 }, nextPhase: 1 }, { kind: 'answer' }];
        const { events } = await runToEnd(engine, createRequest(STORY, { phases, maxTokens: 6 }));
        const { usage } = getEndEvent(events);
        assert.deepEqual([usage.reasoningTokens, usage.completionTokens], [4, 10]);
        assert.ok(events.some((event) => event.type === 'text' && event.phase === 0));
      },
    );

    itIf(
      features.promptLogprobs,
      'returns a log probability of each prompt token but the first, before the text of each choice',
      async () => {
        const choices = Math.min(2, engine.capabilities.choicesMax);
        const request = createRequest(STORY, {
          choices,
          maxTokens: 3,
          logprobs: { top: 2 },
          promptLogprobs: { top: 2 },
        });
        const { engineRun, events } = await runToEnd(engine, request);
        for (let choice = 0; choice < choices; choice++) {
          const types = events.flatMap((event) =>
            event.type !== 'end' && event.choice === choice ? [event.type] : [],
          );
          assert.equal(types[0], 'prompt');
          assert.ok(types.lastIndexOf('prompt') < types.indexOf('text'));
          const [first, ...others] = listPromptLogprobs(events, choice);
          assert.equal(1 + others.length, engineRun.promptTokens);
          assert.deepEqual([first?.logprob, first?.top], [undefined, []]);
          for (const { logprob, top } of others) {
            assert.ok(logprob !== undefined && logprob <= 0 && Number.isFinite(logprob));
            assert.equal(top.length, 2);
          }
          const logprobs = events.flatMap((event) =>
            event.type === 'text' && event.choice === choice ? (event.logprobs ?? []) : [],
          );
          assert.equal(logprobs.length, 3);
        }
        const { text } = await runToEnd(engine, createRequest(STORY, { maxTokens: 3 }));
        assert.equal(joinText(events), text);
      },
    );

    itIf(
      features.promptLogprobs,
      'returns the text of token ids, and the same log probabilities when the prompt may be cached',
      async () => {
        const tokens = (await engine.tokenize(createRequest(STORY).input)).map(({ id }) => id);
        const request = createRequest(STORY, {
          input: { type: 'tokens', tokens },
          maxTokens: 1,
          promptLogprobs: { top: 1 },
        });
        const { events } = await runToEnd(engine, request);
        const text = events.map((event) => (event.type === 'prompt' ? event.text : '')).join('');
        assert.equal(listPromptLogprobs(events).length, tokens.length);
        assert.equal(
          listPromptLogprobs(events)
            .map(({ token }) => token)
            .join(''),
          text,
        );
        const again = await runToEnd(engine, request);
        for (const [at, { logprob = 0 }] of listPromptLogprobs(again.events).entries())
          assert.ok(Math.abs(logprob - (listPromptLogprobs(events)[at]?.logprob ?? 0)) < 0.05, `token ${at}`);
      },
    );

    itIf(features.input === 'prompt', 'evaluates only the prompt with maxTokens 0', async () => {
      const request = createRequest(STORY, { maxTokens: 0 });
      const { engineRun, events, text } = await runToEnd(engine, request);
      assert.equal(text, '');
      assert.deepEqual(
        events.map(({ type }) => type),
        ['choice-end', 'end'],
      );
      assert.deepEqual(events[0], { type: 'choice-end', choice: 0, reason: 'length' });
      const { usage } = getEndEvent(events);
      assert.deepEqual([usage.promptTokens, usage.completionTokens], [engineRun.promptTokens, 0]);
      if (!features.promptLogprobs) return;
      const withLogprobs = { ...request, logprobs: { top: 1 }, promptLogprobs: { top: 1 } };
      const scored = await runToEnd(engine, withLogprobs);
      assert.equal(listPromptLogprobs(scored.events).length, engineRun.promptTokens);
      assert.deepEqual([scored.text, scored.events.at(-2)], ['', events[0]]);
      await waitUntilFree();
    });

    itIf(features.input === 'prompt', 'refuses a token id outside the vocabulary, and names the range', async () => {
      const { vocabularySize } = await engine.loadModel();
      const input: EngineInput = { type: 'tokens', tokens: [1, vocabularySize] };
      await assert.rejects(engine.start(createRequest(STORY, { input }), new AbortController().signal), (error) => {
        assert.ok(error instanceof ServiceError);
        assert.deepEqual([error.kind, error.param], ['invalid-request', 'prompt']);
        assert.match(error.message, new RegExp(`from 0 to ${vocabularySize - 1}, got ${vocabularySize}`));
        return true;
      });
    });

    it('returns several choices, each with one end, and counts the prompt once', async () => {
      const choices = Math.min(3, engine.capabilities.choicesMax);
      assert.ok(choices >= 2);
      const { engineRun, events } = await runToEnd(
        engine,
        createRequest(STORY, { choices, maxTokens: 6, sampling: { temperature: 1, seed: 4 } }),
      );
      const { usage } = getEndEvent(events);
      const singleEnd = getEndEvent((await runToEnd(engine, createRequest(STORY, { maxTokens: 6 }))).events);
      assert.equal(usage.promptTokens, singleEnd.usage.promptTokens);
      if (features.tokens) assert.equal(usage.promptTokens, engineRun.promptTokens);
      assert.equal(usage.completionTokens, choices * 6);
      for (let choice = 0; choice < choices; choice++) {
        const choiceEvents = events.filter((event) => event.type !== 'end' && event.choice === choice);
        assert.ok(choiceEvents.length >= 2);
        assert.deepEqual(
          choiceEvents.flatMap(({ type }, at) => (type === 'choice-end' ? [at] : [])),
          [choiceEvents.length - 1],
        );
      }
      assert.ok(events.every((event) => event.type === 'end' || event.choice < choices));
    });

    itIf(features.logprobs, 'returns log probabilities that match the text, best first', async () => {
      const { events, text } = await runToEnd(engine, createRequest(STORY, { maxTokens: 10, logprobs: { top: 3 } }));
      const tokens: TokenLogprob[] = events.flatMap((event) => (event.type === 'text' ? (event.logprobs ?? []) : []));
      assert.equal(tokens.length, 10);
      const bytes = Uint8Array.from(tokens.flatMap((token) => token.bytes));
      assert.ok(new TextDecoder().decode(bytes).startsWith(text));
      for (const token of tokens) {
        assert.ok(token.logprob === undefined || token.logprob <= 0);
        assert.equal(token.top.length, 3);
        const values = token.top.map(({ logprob }) => logprob ?? -Infinity);
        assert.deepEqual(
          values,
          values.toSorted((a, b) => b - a),
        );
      }
    });

    itIf(features.tokens, 'rejects a prompt above the context size before it starts, with both numbers', async () => {
      const promptTokens = subject.contextTokens + 7;
      const input: EngineInput = { type: 'tokens', tokens: Array.from({ length: promptTokens }, () => 5) };
      await assert.rejects(engine.start(createRequest('', { input }), new AbortController().signal), (error) => {
        assert.ok(error instanceof ServiceError);
        assert.equal(error.kind, 'context-exceeded');
        assert.match(error.message, new RegExp(`\\b${promptTokens}\\b`));
        assert.match(error.message, new RegExp(`\\b${subject.contextTokens}\\b`));
        return true;
      });
      assert.equal(await subject.countBusy(), 0);
    });

    itIf(!features.tokens, 'rejects a chat above the context size before it starts', async () => {
      const chat = createRequest('far too long '.repeat(subject.contextTokens));
      await assert.rejects(engine.start(chat, new AbortController().signal), { kind: 'context-exceeded' });
      assert.equal(await subject.countBusy(), 0);
    });

    itIf(features.grammar, 'generates exactly what a grammar allows', async () => {
      const phases: GenerationPhase[] = [
        { kind: 'call', grammar: { type: 'text', text: 'Yes: ' }, nextPhase: 1 },
        { kind: 'answer', grammar: { type: 'text', text: '42' } },
      ];
      const { events, text } = await runToEnd(engine, createRequest(STORY, { phases }));
      assert.equal(text, 'Yes: 42');
      assert.deepEqual(events.at(-2), { type: 'choice-end', choice: 0, reason: 'stop' });
    });

    itIf(features.grammar, 'reports a grammar that a limit made wider than its schema', async () => {
      const start = async (grammar: Grammar): Promise<EngineRun> => {
        const run = await engine.start(
          createRequest(STORY, { maxTokens: 4, phases: [{ kind: 'answer', grammar }] }),
          new AbortController().signal,
        );
        await Array.fromAsync(run.batches);
        return run;
      };
      assert.equal((await start({ type: 'text', text: '42' })).hasWideGrammar, undefined);
      assert.equal((await start(subject.wideGrammar ?? WIDE_GRAMMAR)).hasWideGrammar, true);
    });

    itIf(
      features.grammar,
      'rejects a grammar that it cannot enforce before it starts, and names its field',
      async () => {
        const grammar = subject.invalidGrammar ?? { type: 'schema', schema: { $ref: '#/nowhere' }, field: 'tools[0]' };
        const request = createRequest(STORY, { phases: [{ kind: 'answer', grammar }] });
        await assert.rejects(engine.start(request, new AbortController().signal), {
          kind: 'invalid-request',
          param: 'tools[0]',
        });
        assert.equal(await subject.countBusy(), 0);
      },
    );

    it('does not start with an aborted signal, and rejects with its reason', async () => {
      await assert.rejects(engine.start(createRequest(STORY), AbortSignal.abort()), { kind: 'cancelled' });
      const timeout = new ServiceError('timeout', 'too late');
      await assert.rejects(engine.start(createRequest(STORY), AbortSignal.abort(timeout)), timeout);
      assert.equal(await subject.countBusy(), 0);
    });

    it('stops when the reader leaves, and serves the next run', async () => {
      const { batches } = await engine.start(createRequest(STORY), new AbortController().signal);
      for await (const batch of batches) if (batch.length > 0) break;
      await waitUntilFree();
      await assertStillWorks();
    });

    it('stops when the caller aborts, and serves the next run', async () => {
      const caller = new AbortController();
      const { batches } = await engine.start(createRequest(STORY), caller.signal);
      await assert.rejects(
        async () => {
          for await (const batch of batches) if (batch.length > 0) caller.abort();
        },
        { kind: 'cancelled' },
      );
      await waitUntilFree();
      await assertStillWorks();
    });

    it('stops when the caller aborts before the first read', async () => {
      const caller = new AbortController();
      await engine.start(createRequest(STORY), caller.signal);
      caller.abort();
      await waitUntilFree();
    });

    it('lets a queued caller abort', async () => {
      const caller = new AbortController();
      const request = createRequest(STORY, { sampling: { temperature: 0 } });
      const runs = await Promise.all(
        Array.from({ length: subject.sequences }, () => engine.start(request, caller.signal)),
      );
      assert.equal(runs.length, subject.sequences);
      const queuedCaller = new AbortController();
      const waiting = engine.start(request, queuedCaller.signal);
      queuedCaller.abort();
      await assert.rejects(waiting, { kind: 'cancelled' });
      caller.abort();
      await waitUntilFree();
      await assertStillWorks();
    });

    itIf(
      features.hasQueue,
      'runs live requests before a background request, and then the background request',
      async () => {
        const order: string[] = [];
        const startRun = async (name: string, priority?: 'background'): Promise<AbortController> => {
          const caller = new AbortController();
          const owner = { workspace: 'w', key: 'k', ...(priority ? { priority } : {}) };
          await engine.start(createRequest(STORY, { owner, sampling: { temperature: 0 } }), caller.signal);
          order.push(name);
          return caller;
        };
        const [first, ...others] = await Promise.all(
          Array.from({ length: subject.sequences }, () => startRun('first')),
        );
        const backgroundRun = startRun('behind', 'background');
        const live = startRun('live');
        first?.abort();
        const second = await live;
        assert.equal(order.at(-1), 'live');
        for (const caller of [...others, second]) caller.abort();
        (await backgroundRun).abort();
        assert.equal(order.at(-1), 'behind');
        await waitUntilFree();
      },
    );

    it('returns the whole answer to a slow reader', async () => {
      const request = createRequest(STORY, { maxTokens: subject.longTokens });
      const expected = await runToEnd(engine, request);
      const { batches } = await engine.start(request, new AbortController().signal);
      const events: EngineEvent[] = [];
      for await (const batch of batches) {
        events.push(...batch);
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      }
      assert.equal(joinText(events), expected.text);
      assert.deepEqual(getEndEvent(events).usage.completionTokens, getEndEvent(expected.events).usage.completionTokens);
    });

    it('rejects a run that fails in the middle of its answer, without an end event, and recovers', async () => {
      const { batches } = await engine.start(createRequest(subject.failing.text), new AbortController().signal);
      const events: EngineEvent[] = [];
      let hasFailed = false;
      await assert.rejects(
        async () => {
          for await (const batch of batches) {
            events.push(...batch);
            // Fails once: earlier output may still be read when a restarted engine has replaced the failed one.
            if (hasFailed || joinText(events) === '') continue;
            hasFailed = true;
            subject.failing.fail();
          }
        },
        { kind: features.failureKind },
      );
      assert.notEqual(joinText(events), '');
      assert.ok(events.every(({ type }) => type !== 'end' && type !== 'choice-end'));
      await subject.failing.restart?.();
      await assertStillWorks();
    });
  });
}
