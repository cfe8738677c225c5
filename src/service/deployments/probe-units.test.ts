import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { EngineRequest, TextEngine } from '../../engines/engine.ts';
import { createScriptedEngine, type ScriptStep } from '../../engines/scripted/scripted-engine.ts';
import { createEngineView } from './engine-view.ts';
import { probeUnits } from './probe-units.ts';

const OWNER = { workspace: 'primary' };
const NEVER = new AbortController().signal;

const createEngine = (steps: readonly ScriptStep[], sequences = 8): TextEngine =>
  createScriptedEngine({ script: () => steps, sequences });
const WORD: readonly ScriptStep[] = [{ type: 'tokens', tokens: ['Hi', ' there'] }];

describe('probeUnits', () => {
  test('requests one token from all units at the same time', async () => {
    const requests: EngineRequest[] = [];
    const { promise: allStarted, resolve } = Promise.withResolvers<void>();
    const inner = createEngine(WORD);
    const engine = createEngineView(inner, async (request, signal) => {
      requests.push(request);
      if (requests.length === 3) resolve();
      // If units were probed one after another, the first would wait forever.
      await allStarted;
      return await inner.start(request, signal);
    });
    assert.deepEqual(await probeUnits([engine, engine, engine], OWNER, NEVER), [undefined, undefined, undefined]);
    assert.deepEqual(
      requests.map(({ maxTokens }) => maxTokens),
      [1, 1, 1],
    );
    assert.equal(new Set(requests.map(({ owner }) => owner.key)).size, 3, 'each probe has its own key');
  });

  test('returns the error of each unit that fails', async () => {
    const broken = createEngine([{ type: 'fail', kind: 'engine-failed' }]);
    const vanishing = createEngine([{ type: 'vanish' }]);
    const results = await probeUnits([createEngine(WORD), broken, vanishing], OWNER, NEVER);
    assert.deepEqual(
      results.map((result) => result?.kind),
      [undefined, 'engine-failed', 'engine-failed'],
    );
  });

  test('waits for an engine that is starting, and not for one that fails', async () => {
    let state: TextEngine['state'] = 'starting';
    let loadCalls = 0;
    const inner = createEngine(WORD);
    const refusal = new ServiceError('overloaded', 'not yet');
    const engine: TextEngine = {
      ...createEngineView(inner),
      get state() {
        return state;
      },
      async loadModel() {
        loadCalls++;
        if (loadCalls < 3) throw refusal;
        state = 'ready';
        return await inner.loadModel();
      },
    };
    assert.deepEqual(await probeUnits([engine, engine], OWNER, NEVER), [undefined, undefined]);
    assert.equal(loadCalls, 3);
    const failing: TextEngine = {
      ...createEngineView(inner, () => Promise.reject(refusal)),
      state: 'failing',
      loadModel: () => Promise.reject(refusal),
    };
    assert.deepEqual(await probeUnits([failing], OWNER, NEVER), [refusal]);
  });

  test('aborts with its signal', async () => {
    const controller = new AbortController();
    const probed = probeUnits([createEngine([{ type: 'hang' }])], OWNER, controller.signal);
    controller.abort(new ServiceError('cancelled', 'I left.'));
    await assert.rejects(probed, /I left/);
  });

  test('sends messages to engines that take messages', async () => {
    let input = '';
    const inner = createEngine(WORD);
    const engine: TextEngine = {
      ...createEngineView(inner, (request, signal) => {
        input = request.input.type;
        return inner.start({ ...request, input: { type: 'segments', segments: [] } }, signal);
      }),
      capabilities: { ...inner.capabilities, input: 'chat' },
    };
    assert.deepEqual(await probeUnits([engine], OWNER, NEVER), [undefined]);
    assert.equal(input, 'messages');
  });
});
