import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTestDeployment, createTestPtuDeployment } from '../core/__fixtures__/test-deployments.ts';
import { ServiceError } from '../core/error.ts';
import type { EngineEvent } from '../core/event.ts';
import type { EngineRequest, TextEngine } from '../engines/engine.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import type { Permit } from './admission.ts';
import { createTestDeps, createTestGeneration, ENTRY } from './__fixtures__/test-generation.ts';
import { withEngine } from './with-engine.ts';

const WORDS = ['a ', 'b ', 'c ', 'd ', 'e ', 'f '];

/** Creates an engine with a context of 100 tokens that records its requests. */
function createRecordingEngine(change: Partial<TextEngine> = {}) {
  const requests: EngineRequest[] = [];
  const engine = createScriptedEngine({ script: () => [{ type: 'tokens', tokens: WORDS }], contextTokens: 100 });
  const start: TextEngine['start'] = (request, signal) => {
    requests.push(request);
    return engine.start(request, signal);
  };
  return { requests, engine: { ...engine, start, ...change } };
}

/** Creates a permit whose usage meter records its calls. */
function createCountingPermit(refuse?: ServiceError) {
  const startCalls: unknown[] = [];
  const produced = { answer: 0, thought: 0 };
  const permit: Partial<Permit> = {
    priority: 'reserved',
    usageMeter: {
      async start(first) {
        startCalls.push(first);
        if (refuse) throw refuse;
      },
      recordOutput: (tokens, kind) => void (produced[kind] += tokens),
    },
  };
  return { permit, startCalls, produced };
}

describe('a generation of a deployment', () => {
  it('logs the model and the name of the deployment', async () => {
    const { records, generate } = createTestGeneration(createRecordingEngine().engine, {
      deployed: createTestDeployment(),
    });
    await Array.fromAsync((await generate()).batches);
    assert.deepEqual([records.logFields.model, records.logFields.deployment], ['m', 'm-ours']);
    const plain = createTestGeneration(createRecordingEngine().engine);
    await Array.fromAsync((await plain.generate()).batches);
    assert.deepEqual([plain.records.logFields.model, plain.records.logFields.deployment], ['m', undefined]);
  });

  it('passes the priority of its permit to the engine', async () => {
    const { engine, requests } = createRecordingEngine();
    const { generate } = createTestGeneration(engine, {
      deployed: createTestPtuDeployment(),
      permit: { priority: 'reserved' },
    });
    await Array.fromAsync((await generate()).batches);
    assert.equal(requests[0]?.owner.priority, 'reserved');
  });

  it('counts its prompt before the engine starts and its answer while it is generated', async () => {
    const { engine, requests } = createRecordingEngine();
    const { permit, startCalls, produced } = createCountingPermit();
    const { generate } = createTestGeneration(engine, { deployed: createTestPtuDeployment(), permit });
    const { batches } = await generate();
    const events = (await Array.fromAsync(batches)).flat();
    const input = requests[0]?.input ?? assert.fail();
    assert.deepEqual(startCalls, [{ promptTokens: await engine.countTokens(input), thinks: false }]);
    assert.deepEqual(produced, { answer: WORDS.length, thought: 0 });
    const end = events.find((event) => event.type === 'end');
    assert.equal(end?.usage.promptTokens, await engine.countTokens(input));
  });

  it('does not start the engine when it is rejected and releases everything', async () => {
    const { engine, requests } = createRecordingEngine();
    const { permit } = createCountingPermit(new ServiceError('token-quota', 'used up', { retryAfterSeconds: 3 }));
    const { generate, records } = createTestGeneration(engine, { deployed: createTestPtuDeployment(), permit });
    await assert.rejects(generate(), { kind: 'token-quota', retryAfterSeconds: 3 });
    assert.equal(requests.length, 0);
    assert.deepEqual([records.releases, records.leasesReleased], [1, 1]);
  });

  it('counts reasoning and answer tokens separately, whether Parley or the server separates them', async () => {
    const { engine } = createRecordingEngine();
    const thinking = createScriptedEngine({
      script: () => [{ type: 'tokens', tokens: ['so', ' then', '</think>', 'yes'] }],
      contextTokens: 100,
    });
    const localPermit = createCountingPermit();
    const entry = { ...ENTRY, abilities: { ...ENTRY.abilities, thinking: 'prompted' as const } };
    const localGeneration = createTestGeneration(thinking, {
      deployed: createTestPtuDeployment(),
      permit: localPermit.permit,
      entry,
    });
    await Array.fromAsync((await localGeneration.generate({ thinking: {} })).batches);
    assert.deepEqual(
      localPermit.startCalls.map((first) => (first as { thinks: boolean }).thinks),
      [true],
    );
    assert.ok(localPermit.produced.thought >= 2, String(localPermit.produced.thought));
    assert.ok(localPermit.produced.answer >= 1);

    const outputEvents: EngineEvent[] = [
      { type: 'reasoning', choice: 0, text: 'so', tokens: 3 },
      { type: 'text', choice: 0, phase: 0, text: 'yes', tokens: 1 },
      { type: 'choice-end', choice: 0, reason: 'stop' },
      { type: 'end', usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 4, reasoningTokens: 3 } },
    ];
    const serverPermit = createCountingPermit();
    const server: TextEngine = {
      ...engine,
      capabilities: { ...engine.capabilities, input: 'chat', thinking: 'switch' },
      start: async () => ({
        batches: (async function* () {
          yield outputEvents;
        })(),
      }),
    };
    const serverGeneration = createTestGeneration(server, {
      deployed: createTestPtuDeployment(),
      permit: serverPermit.permit,
      entry: { ...ENTRY, abilities: { thinking: 'native' } },
    });
    await Array.fromAsync((await serverGeneration.generate({ thinking: {} })).batches);
    // A server that renders the prompt itself reports its length only with the answer.
    assert.deepEqual(serverPermit.startCalls, [{ promptTokens: undefined, thinks: true }]);
    assert.deepEqual(serverPermit.produced, { answer: 1, thought: 3 });
  });
});

describe('a deployment with a smaller context than its engine', () => {
  const deployed = createTestPtuDeployment({ spec: { maxContextLength: 8 } });

  it('ends an answer at its limit and reports the lowered max_tokens', async () => {
    const { engine, requests } = createRecordingEngine();
    const { generate } = createTestGeneration(engine, { deployed });
    const { batches, ignored } = await generate({ maxTokens: 50 });
    const events = (await Array.fromAsync(batches)).flat();
    const promptTokens = await engine.countTokens(requests[0]?.input ?? assert.fail());
    const end = events.find((event) => event.type === 'end');
    assert.equal(end?.usage.completionTokens, 8 - promptTokens);
    assert.deepEqual(
      events.flatMap((event) => (event.type === 'choice-end' ? event.reason : [])),
      ['length'],
    );
    assert.deepEqual(ignored, ['max_tokens(clamped)']);
  });

  it('rejects a prompt that is too long, with both numbers, before it counts anything', async () => {
    const { engine, requests } = createRecordingEngine();
    const { permit, startCalls } = createCountingPermit();
    const { generate } = createTestGeneration(engine, { deployed, permit });
    const text = Array.from({ length: 12 }, () => 'word').join(' ');
    await assert.rejects(generate({ messages: [{ role: 'user', content: [{ type: 'text', text }] }] }), {
      kind: 'context-exceeded',
      message: /should be \[1, 7\] \(the prompt has \d+ tokens, the context of deployment m-ours holds 8\)/,
    });
    assert.deepEqual([requests, startCalls], [[], []]);
  });

  it('has no effect when the engine has no larger context and is reported when Parley cannot count the prompt', async () => {
    const { engine } = createRecordingEngine();
    const wide = createTestGeneration(engine, {
      deployed: createTestPtuDeployment({ spec: { maxContextLength: 100 } }),
    });
    assert.deepEqual((await wide.generate({ maxTokens: 20 })).ignored, []);
    const server: TextEngine = { ...engine, capabilities: { ...engine.capabilities, input: 'chat' } };
    const unmeasuredGeneration = createTestGeneration(server, { deployed, entry: { ...ENTRY, abilities: {} } });
    assert.deepEqual((await unmeasuredGeneration.generate()).ignored, ['max_context_length']);
  });
});

describe('withEngine for a deployment', () => {
  it('uses the priority of its permit and counts the work once', async () => {
    const { permit, startCalls } = createCountingPermit();
    const { context, deps, records } = createTestDeps({}, { deployed: createTestPtuDeployment(), permit });
    const owners: unknown[] = [];
    const on = { model: 'm', on: { interface: 'embeddings' } } as const;
    await withEngine(deps, on, context, async (_engine, owner) => {
      owners.push(owner);
      return { promptTokens: 5, result: undefined };
    });
    assert.deepEqual(owners, [{ workspace: 'cn-beijing/w', key: 'k', priority: 'reserved' }]);
    assert.deepEqual(startCalls, [{ promptTokens: undefined, thinks: false }]);
    assert.deepEqual([records.logFields.deployment, records.releases, records.leasesReleased], ['m-ours', 1, 1]);
  });
});
