import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ServiceError } from '../../src/core/error.ts';
import type { EngineEvent, TokenLogprob } from '../../src/core/event.ts';
import type { Grammar } from '../../src/core/grammar.ts';
import type { Phase } from '../../src/core/prompt.ts';
import type {
  EngineCapabilities,
  EngineInput,
  EngineRequest,
  EngineStart,
  TextEngine,
} from '../../src/engines/engine.ts';
import { until } from '../until.ts';

/**
 * What an engine says that it can do. Only promises that follow from it are tried, and it is a failure where the engine
 * says otherwise, or where a promise does not hold.
 */
export interface Declared {
  readonly input: EngineCapabilities['input'];
  readonly logprobs: boolean;
  readonly grammar: boolean;
  readonly phases: boolean;
  /** Tells the tokens of an input, and with them those of a prompt before it begins. */
  readonly tokens: boolean;
  readonly embeddings: boolean;
  /** Says which stop string was hit. */
  readonly namesStops: boolean;
  /** Has requests wait itself, so that it can say whose turn it is; others leave that to their server. */
  readonly queues: boolean;
  /** What a request fails with whose engine dies. */
  readonly death: 'engine-failed' | 'upstream-failed';
}

/** The embedded engine, and what takes its place in tests. */
export const EMBEDDED: Declared = {
  input: 'prompt',
  logprobs: true,
  grammar: true,
  phases: true,
  tokens: true,
  embeddings: true,
  namesStops: true,
  queues: true,
  death: 'engine-failed',
};

/** An engine on trial, and what the suite must know of it. */
export interface EngineOnTrial {
  readonly engine: TextEngine;
  readonly contextTokens: number;
  /** Runs that it works on at the same time. */
  readonly sequences: number;
  /** Tokens of a long answer: more than any buffer between engine and reader holds, where that can be had in short time. */
  readonly longTokens: number;
  /** Sequences that are busy now. */
  busy(): Promise<number>;
  /** A request that dies in mid-answer once `strike` was called. */
  readonly deadly: {
    readonly text: string;
    strike(): void;
    /** Where the engine does not see to it by itself. */
    revive?(): Promise<void>;
  };
  /** A grammar that it refuses, where a schema that leads nowhere is none. */
  readonly badGrammar?: Grammar;
  close(): Promise<void>;
}

/** How soon a cancelled run must have left its sequence, in ms: a tick, and time for a busy machine. */
const FREE_WITHIN_MS = 1_000;

const STORY = 'Tell me a long story about a lighthouse keeper and his cat.';

/** One user turn, for engines that render it themselves. */
export const userTurn = (text: string): EngineInput => ({
  type: 'messages',
  messages: [{ role: 'user', content: [{ type: 'text', text }] }],
});

/** One user turn in ChatML. */
export const chatMl = (text: string): EngineInput => ({
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

/** Greedy and seeded: the same text each time. */
export const engineRequest = (text: string, more: Partial<EngineRequest> = {}): EngineRequest => ({
  id: 'contract',
  owner: { workspace: 'w', key: 'k' },
  input: chatMl(text),
  sampling: { temperature: 0, seed: 1 },
  stop: { strings: [], tokens: [] },
  choices: 1,
  phases: [],
  ...more,
});

export interface Answer {
  readonly start: EngineStart;
  readonly events: readonly EngineEvent[];
  readonly text: string;
}

export const textOf = (events: readonly EngineEvent[], choice = 0): string =>
  events.map((event) => (event.type === 'text' && event.choice === choice ? event.text : '')).join('');

/** Starts a run and reads it to its end. */
export async function answerOf(engine: TextEngine, request: EngineRequest): Promise<Answer> {
  const start = await engine.start(request, new AbortController().signal);
  const events = (await Array.fromAsync(start.batches)).flat();
  return { start, events, text: textOf(events) };
}

const endOf = (events: readonly EngineEvent[]) => {
  const last = events.at(-1);
  assert.ok(last?.type === 'end', 'the last event is the end');
  return last;
};

/** What every engine promises, whatever it runs on. */
export function engineContract(name: string, declared: Declared, open: () => Promise<EngineOnTrial>): void {
  describe(`engine contract: ${name}`, () => {
    let trial: EngineOnTrial;
    let engine: TextEngine;
    before(async () => {
      trial = await open();
      engine = trial.engine;
    });
    after(() => trial.close());

    /** A promise that follows from something declared. */
    const itWhere = (isDeclared: boolean, promise: string, test: () => Promise<void>): void => {
      if (isDeclared) it(promise, test);
    };

    const ask = (text: string, more: Partial<EngineRequest> = {}): EngineRequest =>
      engineRequest(text, { ...(declared.input === 'chat' ? { input: userTurn(text) } : {}), ...more });

    const isFree = (): Promise<true> =>
      until('all sequences are free', { withinMs: FREE_WITHIN_MS }, async () =>
        (await trial.busy()) === 0 ? true : undefined,
      );

    const works = async (): Promise<void> => {
      const { events } = await answerOf(engine, ask(STORY, { maxTokens: 2 }));
      endOf(events);
    };

    it('can do what it declares', async () => {
      await engine.model();
      const { input, logprobs, grammar, phases } = engine.capabilities;
      assert.deepEqual(
        { input, logprobs: logprobs !== false, grammar, phases },
        {
          input: declared.input,
          logprobs: declared.logprobs,
          grammar: declared.grammar,
          phases: declared.phases,
        },
      );
    });

    it('says text, then the end of each choice, then the end, last and once', async () => {
      const { events } = await answerOf(engine, ask(STORY, { maxTokens: 8 }));
      endOf(events);
      const types = events.map(({ type }) => type);
      assert.equal(types.filter((type) => type === 'end').length, 1);
      assert.equal(types.filter((type) => type === 'choice-end').length, 1);
      assert.equal(types.indexOf('choice-end'), types.length - 2);
      assert.ok(types.slice(0, -2).every((type) => type === 'text'));
    });

    itWhere(declared.tokens, 'tells the tokens that it counts', async () => {
      const { input } = ask(STORY);
      const tokens = await engine.tokenize(input);
      assert.equal(tokens.length, await engine.countTokens(input));
      assert.match(tokens.map(({ text }) => text).join(''), /Tell me a long story about a lighthouse keeper/);
      assert.ok(tokens.every(({ id }) => Number.isInteger(id) && id >= 0));
    });

    itWhere(
      declared.embeddings,
      'makes the same vector of the same text, another of another, and counts their tokens',
      async () => {
        const { embeddings } = engine;
        assert.ok(embeddings, 'it makes vectors');
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
        const dimensions = await embeddings.dimensions();
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

    it('counts what it used, and knows the prompt before it begins', async () => {
      const request = ask(STORY, { maxTokens: 12 });
      const { start, events } = await answerOf(engine, request);
      const { usage } = endOf(events);
      if (declared.tokens) {
        assert.equal(start.promptTokens, await engine.countTokens(request.input));
        assert.equal(usage.promptTokens, start.promptTokens);
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

    it('ends at maxTokens with reason length, and says when it lowers the wish', async () => {
      const { events } = await answerOf(engine, ask(STORY, { maxTokens: 5 }));
      assert.deepEqual(events.at(-2), { type: 'choice-end', choice: 0, reason: 'length' });
      if (!declared.tokens) return;
      const wish = ask(STORY, { maxTokens: trial.contextTokens * 2 });
      const start = await engine.start(wish, new AbortController().signal);
      assert.equal(start.maxTokens, trial.contextTokens - (start.promptTokens ?? 0));
      for await (const batch of start.batches) if (batch.length > 0) break;
      await isFree();
    });

    it('cuts exactly before a stop string and names it', async () => {
      const whole = await answerOf(engine, ask(STORY, { maxTokens: 30 }));
      const middle = Math.floor(whole.text.length / 2);
      const stop = whole.text.slice(middle, middle + 4);
      const { text, events } = await answerOf(
        engine,
        ask(STORY, { maxTokens: 30, stop: { strings: ['never in it', stop], tokens: [] } }),
      );
      assert.equal(text, whole.text.slice(0, whole.text.indexOf(stop)));
      const named = declared.namesStops ? { stop } : {};
      assert.deepEqual(events.at(-2), { type: 'choice-end', choice: 0, reason: 'stop', ...named });
    });

    itWhere(
      declared.phases,
      'leaves a phase exactly where a trigger matched, and goes on in the phase it leads to',
      async () => {
        const whole = await answerOf(engine, ask(STORY, { maxTokens: 30 }));
        const middle = Math.floor(whole.text.length / 2);
        const word = whole.text.slice(middle, middle + 4);
        const phases: Phase[] = [
          { kind: 'answer', triggers: [{ pattern: RegExp.escape(word), phase: 2 }] },
          { kind: 'answer', until: { tokens: 2 } },
          { kind: 'call', until: { tokens: 3 }, next: 1 },
        ];
        const { events } = await answerOf(
          engine,
          ask(STORY, { phases, ...(declared.logprobs ? { logprobs: { top: 0 } } : {}) }),
        );
        const texts = events.filter((event) => event.type === 'text');
        const textOfPhase = (wanted: number): string =>
          texts.map(({ phase, text }) => (phase === wanted ? text : '')).join('');
        assert.equal(textOfPhase(0), whole.text.slice(0, whole.text.indexOf(word) + word.length));
        assert.ok(textOfPhase(1) !== '' && textOfPhase(2) !== '');
        assert.deepEqual(
          texts.map(({ phase }) => phase).filter((phase, at, all) => phase !== all[at - 1]),
          [0, 2, 1],
        );
        assert.ok(
          !declared.logprobs || texts.every(({ phase, logprobs }) => (phase === 2) === (logprobs === undefined)),
          'log probabilities are of answers only',
        );
        assert.deepEqual(events.at(-2), { type: 'choice-end', choice: 0, reason: 'length' });
        assert.equal(endOf(events).usage.reasoningTokens, undefined);
      },
    );

    itWhere(declared.phases, 'thinks apart from the answer, by its budget, and counts it', async () => {
      const phases: Phase[] = [{ kind: 'thought', until: { tokens: 4 }, next: 1 }, { kind: 'answer' }];
      const { events } = await answerOf(engine, ask(STORY, { phases, maxTokens: 6 }));
      const { usage } = endOf(events);
      assert.deepEqual([usage.reasoningTokens, usage.completionTokens], [4, 10]);
      assert.ok(events.some((event) => event.type === 'text' && event.phase === 0));
    });

    it('gives several choices side by side, each with one end, and counts the prompt once', async () => {
      const choices = Math.min(3, engine.capabilities.choicesMax);
      assert.ok(choices >= 2);
      const { start, events } = await answerOf(
        engine,
        ask(STORY, { choices, maxTokens: 6, sampling: { temperature: 1, seed: 4 } }),
      );
      const { usage } = endOf(events);
      const one = endOf((await answerOf(engine, ask(STORY, { maxTokens: 6 }))).events);
      assert.equal(usage.promptTokens, one.usage.promptTokens);
      if (declared.tokens) assert.equal(usage.promptTokens, start.promptTokens);
      assert.equal(usage.completionTokens, choices * 6);
      for (let choice = 0; choice < choices; choice++) {
        const own = events.filter((event) => event.type !== 'end' && event.choice === choice);
        assert.ok(own.length >= 2);
        assert.deepEqual(
          own.flatMap(({ type }, at) => (type === 'choice-end' ? [at] : [])),
          [own.length - 1],
        );
      }
      assert.ok(events.every((event) => event.type === 'end' || event.choice < choices));
    });

    itWhere(declared.logprobs, 'gives log probabilities that keep step with the text, best first', async () => {
      const { events, text } = await answerOf(engine, ask(STORY, { maxTokens: 10, logprobs: { top: 3 } }));
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

    itWhere(declared.tokens, 'refuses a prompt that is too long before it starts, with both numbers', async () => {
      const promptTokens = trial.contextTokens + 7;
      const input: EngineInput = { type: 'tokens', tokens: Array.from({ length: promptTokens }, () => 5) };
      await assert.rejects(engine.start(ask('', { input }), new AbortController().signal), (error) => {
        assert.ok(error instanceof ServiceError);
        assert.equal(error.kind, 'context-exceeded');
        assert.match(error.message, new RegExp(`\\b${promptTokens}\\b`));
        assert.match(error.message, new RegExp(`\\b${trial.contextTokens}\\b`));
        return true;
      });
      assert.equal(await trial.busy(), 0);
    });

    itWhere(!declared.tokens, 'refuses a chat that is too long before it starts', async () => {
      const chat = ask('far too long '.repeat(trial.contextTokens));
      await assert.rejects(engine.start(chat, new AbortController().signal), { kind: 'context-exceeded' });
      assert.equal(await trial.busy(), 0);
    });

    itWhere(declared.grammar, 'says nothing but what a grammar allows, to its end', async () => {
      const phases: Phase[] = [
        { kind: 'call', grammar: { type: 'text', text: 'Yes: ' }, next: 1 },
        { kind: 'answer', grammar: { type: 'text', text: '42' } },
      ];
      const { events, text } = await answerOf(engine, ask(STORY, { phases }));
      assert.equal(text, 'Yes: 42');
      assert.deepEqual(events.at(-2), { type: 'choice-end', choice: 0, reason: 'stop' });
    });

    itWhere(
      declared.grammar,
      'refuses a grammar that it cannot enforce before it starts, and names its field',
      async () => {
        const grammar = trial.badGrammar ?? { type: 'schema', schema: { $ref: '#/nowhere' }, field: 'tools[0]' };
        const request = ask(STORY, { phases: [{ kind: 'answer', grammar }] });
        await assert.rejects(engine.start(request, new AbortController().signal), {
          kind: 'invalid-request',
          param: 'tools[0]',
        });
        assert.equal(await trial.busy(), 0);
      },
    );

    it('does not start for a caller that is gone, and says why', async () => {
      await assert.rejects(engine.start(ask(STORY), AbortSignal.abort()), { kind: 'cancelled' });
      const late = new ServiceError('timeout', 'too late');
      await assert.rejects(engine.start(ask(STORY), AbortSignal.abort(late)), late);
      assert.equal(await trial.busy(), 0);
    });

    it('stops when the reader leaves, and works on', async () => {
      const { batches } = await engine.start(ask(STORY), new AbortController().signal);
      for await (const batch of batches) if (batch.length > 0) break;
      await isFree();
      await works();
    });

    it('stops when the caller aborts, and works on', async () => {
      const caller = new AbortController();
      const { batches } = await engine.start(ask(STORY), caller.signal);
      await assert.rejects(
        async () => {
          for await (const batch of batches) if (batch.length > 0) caller.abort();
        },
        { kind: 'cancelled' },
      );
      await isFree();
      await works();
    });

    it('stops when the caller aborts before anybody reads', async () => {
      const caller = new AbortController();
      await engine.start(ask(STORY), caller.signal);
      caller.abort();
      await isFree();
    });

    it('lets a caller leave while it waits for its turn', async () => {
      const caller = new AbortController();
      const request = ask(STORY, { sampling: { temperature: 0 } });
      const runs = await Promise.all(
        Array.from({ length: trial.sequences }, () => engine.start(request, caller.signal)),
      );
      assert.equal(runs.length, trial.sequences);
      const impatient = new AbortController();
      const waiting = engine.start(request, impatient.signal);
      impatient.abort();
      await assert.rejects(waiting, { kind: 'cancelled' });
      caller.abort();
      await isFree();
      await works();
    });

    itWhere(declared.queues, 'lets a background request wait for live ones, and then run', async () => {
      const order: string[] = [];
      const run = async (name: string, priority?: 'background'): Promise<AbortController> => {
        const caller = new AbortController();
        const owner = { workspace: 'w', key: 'k', ...(priority ? { priority } : {}) };
        await engine.start(ask(STORY, { owner, sampling: { temperature: 0 } }), caller.signal);
        order.push(name);
        return caller;
      };
      const [first, ...others] = await Promise.all(Array.from({ length: trial.sequences }, () => run('first')));
      const behind = run('behind', 'background');
      const live = run('live');
      first?.abort();
      const second = await live;
      assert.equal(order.at(-1), 'live');
      for (const caller of [...others, second]) caller.abort();
      (await behind).abort();
      assert.equal(order.at(-1), 'behind');
      await isFree();
    });

    it('loses nothing for a slow reader', async () => {
      const request = ask(STORY, { maxTokens: trial.longTokens });
      const fast = await answerOf(engine, request);
      const { batches } = await engine.start(request, new AbortController().signal);
      const events: EngineEvent[] = [];
      for await (const batch of batches) {
        events.push(...batch);
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      }
      assert.equal(textOf(events), fast.text);
      assert.deepEqual(endOf(events).usage.completionTokens, endOf(fast.events).usage.completionTokens);
    });

    it('that dies in mid-answer rejects, never looks finished, and comes back', async () => {
      const { batches } = await engine.start(ask(trial.deadly.text), new AbortController().signal);
      const events: EngineEvent[] = [];
      let isStruck = false;
      await assert.rejects(
        async () => {
          for await (const batch of batches) {
            events.push(...batch);
            // Once: what was said before is read behind its end, and by then another may be in its place.
            if (isStruck || textOf(events) === '') continue;
            isStruck = true;
            trial.deadly.strike();
          }
        },
        { kind: declared.death },
      );
      assert.notEqual(textOf(events), '');
      assert.ok(events.every(({ type }) => type !== 'end' && type !== 'choice-end'));
      await trial.deadly.revive?.();
      await works();
    });
  });
}
