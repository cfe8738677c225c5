import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Abilities } from '../core/abilities.ts';
import { ServiceError } from '../core/error.ts';
import type { Message } from '../core/message.ts';
import type { EngineEvent, GenerationEvent, Usage } from '../core/event.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { EngineInput, TextEngine } from '../engines/engine.ts';
import { createScriptedEngine, type ScriptStep } from '../engines/scripted/scripted-engine.ts';
import { createTestGeneration, ENTRY, REQUEST } from './__fixtures__/test-generation.ts';

const scripted = (...steps: ScriptStep[]) => createScriptedEngine({ script: () => steps, contextTokens: 100 });
const tokens = (...texts: string[]): ScriptStep => ({ type: 'tokens', tokens: texts });

/** Creates an engine that emits exactly these events. */
const createEventEngine = (...events: EngineEvent[]): TextEngine => ({
  ...scripted(),
  start: async () => ({
    promptTokens: 3,
    batches: (async function* () {
      yield events;
    })(),
  }),
});

const types = (events: readonly GenerationEvent[]): string[] => events.map(({ type }) => type);

describe('createGenerate', () => {
  it('reports request fields that have no effect', async () => {
    const messages: Message[] = [
      { role: 'user', content: [{ type: 'text', text: 'Hi', cache: 'ephemeral' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello' }], reasoning: 'polite' },
      { role: 'user', content: [{ type: 'text', text: 'And?' }] },
    ];
    const outputFormat = { type: 'json-object' } as const;
    const fields = { messages, thinking: {}, preserveThinking: true, outputFormat };
    const { ignored } = await createTestGeneration(scripted(tokens('{}'))).generate(fields);
    assert.deepEqual(ignored.toSorted(), ['cache_control', 'preserve_thinking', 'response_format', 'thinking']);
  });

  it('emits the start with the first batch, then blocks, and the end last', async () => {
    const generation = createTestGeneration(scripted(tokens('Hel', 'lo')));
    const { batches, ignored } = await generation.generate();
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
    assert.deepEqual(
      [generation.records.permits, generation.records.releases, generation.records.leasesReleased],
      [1, 1, 1],
    );
    assert.deepEqual(
      generation.records.settled.map(({ outcome, usage }) => [outcome, usage.completionTokens]),
      [['finished', 2]],
    );
    assert.equal(generation.records.logFields.ended, 'finished');
  });

  it('separates the events of several choices', async () => {
    const { batches } = await createTestGeneration(scripted(tokens('a', 'b'))).generate({ choices: 2 });
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

  it('reports max_tokens when the context is too small for it', async () => {
    const { ignored } = await createTestGeneration(scripted(tokens('a'))).generate({ maxTokens: 5000 });
    assert.deepEqual(ignored, ['max_tokens(clamped)']);
  });

  it('requests no log probabilities under a grammar when the engine has none there, and reports that', async () => {
    const requestedLogprobs: unknown[] = [];
    const engine = createScriptedEngine({
      script: ({ logprobs }) => {
        requestedLogprobs.push(logprobs);
        return [tokens('{}')];
      },
    });
    const generation = createTestGeneration(
      { ...engine, capabilities: { ...engine.capabilities, logprobs: 'free', grammar: true } },
      { entry: { ...ENTRY, abilities: { ...ENTRY.abilities, tools: true } } },
    );
    const toolUse = {
      tools: [{ name: 'f', description: '', parameters: undefined, field: 'tools[0].function.parameters' }],
      isParallel: false,
      streamsComplexArguments: false,
    };
    const cases: readonly (readonly [Partial<GenerationRequest>, boolean])[] = [
      [{}, true],
      [{ toolUse: { ...toolUse, choice: 'auto' } }, true],
      [{ toolUse: { ...toolUse, choice: 'required' } }, false],
      [{ outputFormat: { type: 'json-object' } }, false],
    ];
    for (const [fields, isSupported] of cases) {
      const { batches, ignored } = await generation.generate({ ...fields, logprobs: { top: 1 } });
      assert.deepEqual(ignored, isSupported ? [] : ['logprobs(grammar)']);
      assert.deepEqual(requestedLogprobs.pop(), isSupported ? { top: 1 } : undefined);
      await batches[Symbol.asyncIterator]().return?.();
    }
  });

  it('asks a chat server to keep earlier reasoning if its model can think and reports preserve_thinking otherwise', async () => {
    for (const isThinker of [true, false]) {
      const inputs: EngineInput[] = [];
      const engine: TextEngine = {
        ...scripted(),
        capabilities: { ...scripted().capabilities, input: 'chat', phases: false },
        start: (request, signal) => {
          inputs.push(request.input);
          return createEventEngine().start(request, signal);
        },
      };
      const abilities = { ...ENTRY.abilities, ...(isThinker ? { thinking: 'native' as const } : {}) };
      const { batches, ignored } = await createTestGeneration(engine, { entry: { ...ENTRY, abilities } }).generate({
        preserveThinking: true,
      });
      assert.deepEqual(ignored, isThinker ? [] : ['preserve_thinking']);
      assert.partialDeepStrictEqual(inputs, [{ type: 'messages', preserveThinking: isThinker }]);
      await batches[Symbol.asyncIterator]().return?.();
    }
  });

  it('forwards extra fields that a chat server supports and reports the others', async () => {
    const inputs: EngineInput[] = [];
    const engine: TextEngine = {
      ...scripted(),
      capabilities: {
        ...scripted().capabilities,
        input: 'chat',
        phases: false,
        thinking: 'switch',
        ignoredSampling: ['topK', 'minP'],
        forwardableFields: ['priority', '__proto__'],
      },
      start: (request, signal) => {
        inputs.push(request.input);
        return createEventEngine().start(request, signal);
      },
    };
    const generation = createTestGeneration(engine, { entry: { ...ENTRY, abilities: { thinking: 'native' } } });
    const extraFields = JSON.parse('{"priority":3,"guided":"x"}') as Record<string, unknown>;
    const fields = { thinking: { budgetTokens: 9 }, sampling: { topK: 4, topP: 0.5 }, extraFields };
    const first = await generation.generate(fields);
    assert.deepEqual(first.ignored, ['top_k', 'guided']);
    const second = await generation.generate({});
    assert.deepEqual(second.ignored, []);
    assert.partialDeepStrictEqual(inputs, [
      { thinking: { budgetTokens: 9 }, forwarded: { priority: 3 } },
      { thinking: false },
    ]);
    assert.ok(inputs[1]?.type === 'messages' && inputs[1].forwarded === undefined);
    for (const { batches } of [first, second]) await batches[Symbol.asyncIterator]().return?.();
  });

  it('uses the abilities that the engine reports when the catalogue has none', async () => {
    const createEngineWithAbilities = (abilities: Abilities): TextEngine => {
      const engine = scripted(tokens('a'));
      return { ...engine, loadModel: async () => ({ ...(await engine.loadModel()), abilities }) };
    };
    const entry = { ...ENTRY, abilities: {} };
    const fields = { logprobs: { top: 0 } };
    const { batches } = await createTestGeneration(createEngineWithAbilities({ logprobs: true }), { entry }).generate(
      fields,
    );
    await Array.fromAsync(batches);
    for (const [engine, declared] of [
      [createEngineWithAbilities({ logprobs: false }), {}],
      [createEngineWithAbilities({ logprobs: true }), { logprobs: false }],
    ] as const) {
      const refused = createTestGeneration(engine, { entry: { ...ENTRY, abilities: declared } }).generate(fields);
      await assert.rejects(refused, { kind: 'unsupported', param: 'logprobs' });
    }
  });

  describe('log probabilities of the prompt', () => {
    const scores = { logprobs: { top: 1 }, promptLogprobs: { top: 1 } };

    it('come before the blocks of their choice, with nothing after them for maxTokens 0', async () => {
      const generation = createTestGeneration(scripted(tokens('a', 'b')));
      const { batches } = await generation.generate({ ...scores, choices: 2, maxTokens: 0 });
      const events = (await Array.fromAsync(batches)).flat();
      assert.deepEqual(
        events.map((event) => ('choice' in event ? [event.type, event.choice] : [event.type])),
        [['start'], ['prompt', 0], ['prompt', 1], ['choice-end', 0], ['choice-end', 1], ['end']],
      );
    });

    it('are refused for a server that reports none, and the error names the server', async () => {
      const engine: TextEngine = { ...scripted(), capabilities: { ...scripted().capabilities, promptLogprobs: false } };
      const remote = { model: 'x', input: 'prompt', forward: [], timeouts: {}, family: 'template' } as const;
      const runner = { type: 'upstream', addresses: [], remote: { ...remote, server: 'llama-server' } } as const;
      await assert.rejects(createTestGeneration(engine, { entry: { ...ENTRY, runner } }).generate(scores), {
        kind: 'unsupported',
        param: 'echo',
        message:
          'Model m does not return log probabilities of the prompt: its server (llama-server) does not report them. Send the request without echo or without logprobs.',
      });
    });

    it('need no temperature 0 where a server reports those of its answers only then', async () => {
      const createGreedyGeneration = () => {
        const engine = scripted(tokens('a'));
        return createTestGeneration({ ...engine, capabilities: { ...engine.capabilities, logprobs: 'greedy' } });
      };
      for (const fields of [
        { ...scores, maxTokens: 0 },
        { ...scores, sampling: { temperature: 0 } },
      ])
        await Array.fromAsync((await createGreedyGeneration().generate(fields)).batches);
      for (const sampling of [
        {},
        { temperature: 1 },
        { temperature: 0, presencePenalty: 1 },
        { temperature: 0, logitBias: new Map([[1, 1]]) },
      ])
        await assert.rejects(createGreedyGeneration().generate({ ...scores, sampling }), {
          kind: 'unsupported',
          param: 'logprobs',
          message: /only with temperature 0/,
        });
    });
  });

  it('sends images to a server whose vision ability is unknown and rejects them for a model known to lack it', async () => {
    const messages: Message[] = [{ role: 'user', content: [{ type: 'image', url: 'http://h/i.png' }] }];
    const base = createEventEngine({ type: 'choice-end', choice: 0, reason: 'stop' });
    const engine: TextEngine = { ...base, capabilities: { ...base.capabilities, input: 'chat', phases: false } };
    const seeing = createTestGeneration(engine, { entry: { ...ENTRY, abilities: {} } });
    const unknown = await seeing.generate({ messages });
    assert.equal(seeing.records.imagesReleased, 0);
    await unknown.batches[Symbol.asyncIterator]().return?.();
    assert.deepEqual([seeing.records.imagesFetched, seeing.records.imagesReleased], [1, 1]);
    const blind = createTestGeneration(engine, { entry: { ...ENTRY, abilities: { vision: false } } });
    await assert.rejects(blind.generate({ messages }), { kind: 'invalid-request', param: 'messages[0].content' });
    assert.equal(blind.records.imagesFetched, 0);
    const promptGeneration = createTestGeneration(base, { entry: { ...ENTRY, abilities: {} } });
    await assert.rejects(promptGeneration.generate({ messages }), {
      kind: 'invalid-request',
      param: 'messages[0].content',
    });
  });

  it("merges the request's sampling with the model's defaults and separates workspaces of different regions", async () => {
    let engineInput: unknown;
    const engine = createScriptedEngine({
      script: ({ sampling, owner }) => {
        engineInput = { sampling, owner };
        return [];
      },
    });
    await createTestGeneration(engine).generate({ sampling: { topP: 0.1 } });
    assert.deepEqual(engineInput, {
      sampling: { temperature: 0.5, topP: 0.1 },
      owner: { workspace: 'cn-beijing/w', key: 'k' },
    });
  });
});

describe('a rejected generation', () => {
  it('fails before any event and releases its permit', async () => {
    for (const [engine, kind] of [
      [scripted({ type: 'fail', kind: 'overloaded' }), 'overloaded'],
      [createScriptedEngine({ script: () => [], contextTokens: 2 }), 'context-exceeded'],
    ] as const) {
      const generation = createTestGeneration(engine);
      await assert.rejects(generation.generate(), { kind });
      assert.deepEqual(
        [generation.records.permits, generation.records.releases, generation.records.leasesReleased],
        [1, 1, 1],
      );
      // The ledger entry is reserved before the start, so it is settled with no usage.
      assert.deepEqual(
        generation.records.settled.map(({ outcome, usage }) => [outcome, usage.promptTokens, usage.completionTokens]),
        [['failed', 0, 0]],
      );
    }
  });

  it('needs no permit for an unknown model', async () => {
    const generation = createTestGeneration(scripted());
    await assert.rejects(generation.generate({ model: 'other' }), { kind: 'model-not-found' });
    assert.equal(generation.records.permits, 0);
  });

  it('names the field that the model or its engine does not support', async () => {
    const generation = createTestGeneration({
      ...scripted(),
      capabilities: { ...scripted().capabilities, logprobs: false },
    });
    await assert.rejects(generation.generate({ logprobs: { top: 1 } }), { kind: 'unsupported', param: 'logprobs' });
    const image = { role: 'user', content: [{ type: 'image', url: 'data:,' }] } as const;
    await assert.rejects(generation.generate({ messages: [...REQUEST.messages, image] }), {
      kind: 'invalid-request',
      param: 'messages[1].content',
    });
    assert.equal(generation.records.permits, generation.records.releases);
  });

  it('does not start the engine when the ledger fails', async () => {
    let starts = 0;
    const engine = createScriptedEngine({ script: () => [{ type: 'hang' }] });
    const countingEngine: TextEngine = {
      ...engine,
      start: (request, signal) => {
        starts++;
        return engine.start(request, signal);
      },
    };
    const generation = createTestGeneration(countingEngine, {
      reserve: () => Promise.reject(new ServiceError('internal', 'no ledger')),
    });
    await assert.rejects(generation.generate(), { kind: 'internal' });
    assert.deepEqual([starts, generation.records.releases, generation.records.leasesReleased], [0, 1, 1]);
  });
});

describe('the resources of a run', () => {
  const isClosed = (
    { records }: ReturnType<typeof createTestGeneration>,
    how: string,
    completionTokens: number,
  ): void => {
    assert.deepEqual([records.permits, records.releases], [1, 1]);
    assert.deepEqual(
      records.settled.map((entry) => [entry.outcome, entry.usage.completionTokens]),
      [[how, completionTokens]],
    );
  };

  it('are released with the generated tokens when the caller disconnects', async () => {
    const generation = createTestGeneration(scripted(tokens('a', 'b'), { type: 'hang' }));
    const { batches } = await generation.generate();
    await assert.rejects(
      async () => {
        for await (const batch of batches) if (batch.length > 0) generation.caller.abort();
      },
      { kind: 'cancelled' },
    );
    isClosed(generation, 'cancelled', 2);
  });

  it('are released when the reader stops', async () => {
    const generation = createTestGeneration(scripted(tokens('a'), { type: 'hang' }));
    const { batches } = await generation.generate();
    for await (const batch of batches) if (batch.length > 0) break;
    isClosed(generation, 'cancelled', 1);
  });

  it('are released when the caller disconnects before anybody reads', async () => {
    const generation = createTestGeneration(scripted(tokens('a'), { type: 'hang' }));
    const { batches } = await generation.generate();
    generation.caller.abort();
    isClosed(generation, 'cancelled', 0);
    await assert.rejects(Array.fromAsync(batches));
    isClosed(generation, 'cancelled', 0);
  });

  it('are released when the engine fails in the middle of an answer', async () => {
    const generation = createTestGeneration(scripted(tokens('a'), { type: 'fail', kind: 'engine-failed' }));
    const { batches } = await generation.generate();
    await assert.rejects(Array.fromAsync(batches), { kind: 'engine-failed' });
    isClosed(generation, 'failed', 1);
  });

  it('are released when the stream stops without its end event, which is a failure', async () => {
    const generation = createTestGeneration(scripted(tokens('a'), { type: 'vanish' }));
    const { batches } = await generation.generate();
    await assert.rejects(Array.fromAsync(batches), { kind: 'engine-failed' });
    isClosed(generation, 'failed', 1);
  });
});

describe('an invalid engine stream', () => {
  const usage: Usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1 };
  const text = (choice: number): EngineEvent => ({ type: 'text', choice, text: 'a', tokens: 1, phase: 0 });
  const choiceEnd: EngineEvent = { type: 'choice-end', choice: 0, reason: 'stop' };
  const end: EngineEvent = { type: 'end', usage };

  it('fails the run and never ends as a short success', async () => {
    for (const events of [
      [text(0), end],
      [choiceEnd, end, end],
      [choiceEnd, end, text(0)],
      [text(1), choiceEnd, end],
      [text(0), choiceEnd],
    ]) {
      const generation = createTestGeneration(createEventEngine(...events));
      const { batches } = await generation.generate();
      await assert.rejects(Array.fromAsync(batches), { kind: 'engine-failed' }, JSON.stringify(events));
      assert.deepEqual(
        generation.records.settled.map(({ outcome }) => outcome),
        ['failed'],
      );
    }
  });
});
