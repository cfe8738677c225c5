import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Abilities } from '../core/abilities.ts';
import { ServiceError } from '../core/error.ts';
import type { Message } from '../core/message.ts';
import type { EngineEvent, GenerationEvent, Usage } from '../core/event.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { EngineInput, TextEngine } from '../engines/engine.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import type { Step } from '../engines/scripted/scripted-engine.ts';
import { createHouse, ENTRY, REQUEST } from './__fixtures__/house.ts';

const scripted = (...steps: Step[]) => createScriptedEngine({ script: () => steps, contextTokens: 100 });
const tokens = (...texts: string[]): Step => ({ type: 'tokens', tokens: texts });

/** An engine that says exactly these events. */
const saying = (...events: EngineEvent[]): TextEngine => ({
  ...scripted(),
  start: async () => ({
    promptTokens: 3,
    batches: (async function* () {
      yield events;
    })(),
  }),
});

const types = (events: readonly GenerationEvent[]): string[] => events.map(({ type }) => type);

describe('a generation', () => {
  it('says what was asked for and cannot be heard', async () => {
    const messages: Message[] = [
      { role: 'user', content: [{ type: 'text', text: 'Hi', cache: 'ephemeral' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello' }], reasoning: 'polite' },
      { role: 'user', content: [{ type: 'text', text: 'And?' }] },
    ];
    const outputFormat = { type: 'json-object' } as const;
    const wishes = { messages, thinking: {}, preserveThinking: true, outputFormat };
    const { ignored } = await createHouse(scripted(tokens('{}'))).generate(wishes);
    assert.deepEqual(ignored.toSorted(), ['cache_control', 'preserve_thinking', 'response_format', 'thinking']);
  });

  it('begins with the start, which comes with the first batch, and ends with the end', async () => {
    const house = createHouse(scripted(tokens('Hel', 'lo')));
    const { batches, ignored } = await house.generate();
    const all = await Array.fromAsync(batches);
    assert.deepEqual(types(all[0] ?? []).slice(0, 3), ['start', 'block-start', 'block-delta']);
    assert.deepEqual(types(all.flat()), [
      'start',
      'block-start',
      'block-delta',
      'block-delta',
      'block-end',
      'choice-end',
      'end',
    ]);
    assert.deepEqual(ignored, []);
    assert.deepEqual([house.books.permits, house.books.releases, house.books.leasesReleased], [1, 1, 1]);
    assert.deepEqual(
      house.books.settled.map(({ how, usage }) => [how, usage.completionTokens]),
      [['finished', 2]],
    );
    assert.equal(house.books.facts.ended, 'finished');
  });

  it('with several answers keeps them apart', async () => {
    const { batches } = await createHouse(scripted(tokens('a', 'b'))).generate({ choices: 2 });
    const events = (await Array.fromAsync(batches)).flat();
    for (const choice of [0, 1])
      assert.equal(
        events.map((event) => (event.type === 'block-delta' && event.choice === choice ? event.text : '')).join(''),
        'ab',
      );
    assert.deepEqual(
      types(events).filter((type) => type === 'start' || type === 'end'),
      ['start', 'end'],
    );
  });

  it('names a wish for more tokens than there is room for', async () => {
    const { ignored } = await createHouse(scripted(tokens('a'))).generate({ maxTokens: 5000 });
    assert.deepEqual(ignored, ['max_tokens(clamped)']);
  });

  it('asks no probabilities of an engine that has none under a grammar where there is one, and says so', async () => {
    const asked: unknown[] = [];
    const engine = createScriptedEngine({
      script: ({ logprobs }) => {
        asked.push(logprobs);
        return [tokens('{}')];
      },
    });
    const house = createHouse(
      { ...engine, capabilities: { ...engine.capabilities, logprobs: 'free', grammar: true } },
      { entry: { ...ENTRY, abilities: { ...ENTRY.abilities, tools: true } } },
    );
    const toolUse = {
      tools: [{ name: 'f', description: '', parameters: undefined, field: 'tools[0].function.parameters' }],
      isParallel: false,
      streamsComplex: false,
    };
    const cases: readonly (readonly [Partial<GenerationRequest>, boolean])[] = [
      [{}, true],
      [{ toolUse: { ...toolUse, choice: 'auto' } }, true],
      [{ toolUse: { ...toolUse, choice: 'required' } }, false],
      [{ outputFormat: { type: 'json-object' } }, false],
    ];
    for (const [fields, isHeard] of cases) {
      const { batches, ignored } = await house.generate({ ...fields, logprobs: { top: 1 } });
      assert.deepEqual(ignored, isHeard ? [] : ['logprobs(grammar)']);
      assert.deepEqual(asked.pop(), isHeard ? { top: 1 } : undefined);
      await batches[Symbol.asyncIterator]().return?.();
    }
  });

  it('tells a chat engine to keep earlier thoughts where its model can think, and otherwise says that they are not', async () => {
    for (const isThinker of [true, false]) {
      const inputs: EngineInput[] = [];
      const engine: TextEngine = {
        ...scripted(),
        capabilities: { ...scripted().capabilities, input: 'chat', phases: false },
        start: (request, signal) => {
          inputs.push(request.input);
          return saying().start(request, signal);
        },
      };
      const abilities = { ...ENTRY.abilities, ...(isThinker ? { thinking: 'native' as const } : {}) };
      const { batches, ignored } = await createHouse(engine, { entry: { ...ENTRY, abilities } }).generate({
        preserveThinking: true,
      });
      assert.deepEqual(ignored, isThinker ? [] : ['preserve_thinking']);
      assert.partialDeepStrictEqual(inputs, [{ type: 'messages', preserveThinking: isThinker }]);
      await batches[Symbol.asyncIterator]().return?.();
    }
  });

  it('passes on to a chat engine what it has words for, and names the rest', async () => {
    const inputs: EngineInput[] = [];
    const engine: TextEngine = {
      ...scripted(),
      capabilities: {
        ...scripted().capabilities,
        input: 'chat',
        phases: false,
        thinking: 'switch',
        unheardSampling: ['topK', 'minP'],
        forwards: ['priority', '__proto__'],
      },
      start: (request, signal) => {
        inputs.push(request.input);
        return saying().start(request, signal);
      },
    };
    const house = createHouse(engine, { entry: { ...ENTRY, abilities: { thinking: 'native' } } });
    const further = JSON.parse('{"priority":3,"guided":"x"}') as Record<string, unknown>;
    const asked = { thinking: { budgetTokens: 9 }, sampling: { topK: 4, topP: 0.5 }, further };
    const first = await house.generate(asked);
    assert.deepEqual(first.ignored, ['top_k', 'guided']);
    const second = await house.generate({});
    assert.deepEqual(second.ignored, []);
    assert.partialDeepStrictEqual(inputs, [
      { thinking: { budgetTokens: 9 }, forwarded: { priority: 3 } },
      { thinking: false },
    ]);
    assert.ok(inputs[1]?.type === 'messages' && inputs[1].forwarded === undefined);
    for (const { batches } of [first, second]) await batches[Symbol.asyncIterator]().return?.();
  });

  it('goes by what the engine tells of its model where the catalogue is silent', async () => {
    const told = (abilities: Abilities): TextEngine => {
      const engine = scripted(tokens('a'));
      return { ...engine, model: async () => ({ ...(await engine.model()), abilities }) };
    };
    const entry = { ...ENTRY, abilities: {} };
    const asked = { logprobs: { top: 0 } };
    const { batches } = await createHouse(told({ logprobs: true }), { entry }).generate(asked);
    await Array.fromAsync(batches);
    for (const [engine, declared] of [
      [told({ logprobs: false }), {}],
      [told({ logprobs: true }), { logprobs: false }],
    ] as const) {
      const refused = createHouse(engine, { entry: { ...ENTRY, abilities: declared } }).generate(asked);
      await assert.rejects(refused, { kind: 'unsupported', param: 'logprobs' });
    }
  });

  it('lets the request override the defaults of the model, and calls workspaces of two regions different', async () => {
    let seen: unknown;
    const engine = createScriptedEngine({
      script: ({ sampling, owner }) => {
        seen = { sampling, owner };
        return [];
      },
    });
    await createHouse(engine).generate({ sampling: { topP: 0.1 } });
    assert.deepEqual(seen, {
      sampling: { temperature: 0.5, topP: 0.1 },
      owner: { workspace: 'cn-beijing/w', key: 'k' },
    });
  });
});

describe('a refusal', () => {
  it('comes before anything is said, and gives the permit back', async () => {
    for (const [engine, kind] of [
      [scripted({ type: 'fail', kind: 'overloaded' }), 'overloaded'],
      [createScriptedEngine({ script: () => [], contextTokens: 1 }), 'context-exceeded'],
    ] as const) {
      const house = createHouse(engine);
      await assert.rejects(house.generate(), { kind });
      assert.deepEqual([house.books.permits, house.books.releases, house.books.leasesReleased], [1, 1, 1]);
      // Reserved before the start, so that no run goes unbooked: settled as nothing.
      assert.deepEqual(
        house.books.settled.map(({ how, usage }) => [how, usage.promptTokens, usage.completionTokens]),
        [['failed', 0, 0]],
      );
    }
  });

  it('of an unknown model needs no permit', async () => {
    const house = createHouse(scripted());
    await assert.rejects(house.generate({ model: 'other' }), { kind: 'model-not-found' });
    assert.equal(house.books.permits, 0);
  });

  it('names what the model or its engine cannot do', async () => {
    const house = createHouse({
      ...scripted(),
      capabilities: { ...scripted().capabilities, logprobs: false, choicesMax: 2 },
    });
    await assert.rejects(house.generate({ logprobs: { top: 1 } }), { kind: 'unsupported', param: 'logprobs' });
    await assert.rejects(house.generate({ choices: 3 }), { kind: 'invalid-request', param: 'n' });
    const image = { role: 'user', content: [{ type: 'image', url: 'data:,' }] } as const;
    await assert.rejects(house.generate({ messages: [...REQUEST.messages, image] }), {
      kind: 'invalid-request',
      param: 'messages[1].content',
    });
    assert.equal(house.books.permits, house.books.releases);
  });

  it('of the ledger comes before the engine has begun anything', async () => {
    let starts = 0;
    const engine = createScriptedEngine({ script: () => [{ type: 'hang' }] });
    const counting: TextEngine = {
      ...engine,
      start: (request, signal) => {
        starts++;
        return engine.start(request, signal);
      },
    };
    const house = createHouse(counting, { reserve: () => Promise.reject(new ServiceError('internal', 'no ledger')) });
    await assert.rejects(house.generate(), { kind: 'internal' });
    assert.deepEqual([starts, house.books.releases, house.books.leasesReleased], [0, 1, 1]);
  });
});

describe('what a run holds is given back', () => {
  const isClosed = ({ books }: ReturnType<typeof createHouse>, how: string, completionTokens: number): void => {
    assert.deepEqual([books.permits, books.releases], [1, 1]);
    assert.deepEqual(
      books.settled.map((entry) => [entry.how, entry.usage.completionTokens]),
      [[how, completionTokens]],
    );
  };

  it('when the caller goes away, with what was said so far', async () => {
    const house = createHouse(scripted(tokens('a', 'b'), { type: 'hang' }));
    const { batches } = await house.generate();
    await assert.rejects(
      async () => {
        for await (const batch of batches) if (batch.length > 0) house.caller.abort();
      },
      { kind: 'cancelled' },
    );
    isClosed(house, 'cancelled', 2);
  });

  it('when the reader stops', async () => {
    const house = createHouse(scripted(tokens('a'), { type: 'hang' }));
    const { batches } = await house.generate();
    for await (const batch of batches) if (batch.length > 0) break;
    isClosed(house, 'cancelled', 1);
  });

  it('when the caller goes away before anybody reads', async () => {
    const house = createHouse(scripted(tokens('a'), { type: 'hang' }));
    const { batches } = await house.generate();
    house.caller.abort();
    isClosed(house, 'cancelled', 0);
    await assert.rejects(Array.fromAsync(batches));
    isClosed(house, 'cancelled', 0);
  });

  it('when the engine fails in mid-answer', async () => {
    const house = createHouse(scripted(tokens('a'), { type: 'fail', kind: 'engine-failed' }));
    const { batches } = await house.generate();
    await assert.rejects(Array.fromAsync(batches), { kind: 'engine-failed' });
    isClosed(house, 'failed', 1);
  });

  it('when the stream stops without an end, which is a failure', async () => {
    const house = createHouse(scripted(tokens('a'), { type: 'vanish' }));
    const { batches } = await house.generate();
    await assert.rejects(Array.fromAsync(batches), { kind: 'engine-failed' });
    isClosed(house, 'failed', 1);
  });
});

describe('a stream that makes no whole', () => {
  const usage: Usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1 };
  const text = (choice: number): EngineEvent => ({ type: 'text', choice, text: 'a', tokens: 1, phase: 0 });
  const over: EngineEvent = { type: 'choice-end', choice: 0, reason: 'stop' };
  const end: EngineEvent = { type: 'end', usage };

  it('is a failure, never a short success', async () => {
    for (const events of [
      [text(0), end],
      [over, end, end],
      [over, end, text(0)],
      [text(1), over, end],
      [text(0), over],
    ]) {
      const house = createHouse(saying(...events));
      const { batches } = await house.generate();
      await assert.rejects(Array.fromAsync(batches), { kind: 'engine-failed' }, JSON.stringify(events));
      assert.deepEqual(
        house.books.settled.map(({ how }) => how),
        ['failed'],
      );
    }
  });
});
