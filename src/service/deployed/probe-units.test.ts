import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { EngineRequest, TextEngine } from '../../engines/engine.ts';
import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import type { Step } from '../../engines/scripted/scripted-engine.ts';
import { lentEngine } from './lent-engine.ts';
import { probeUnits } from './probe-units.ts';

const OWNER = { workspace: 'primary' };
const NEVER = new AbortController().signal;

const engineWith = (steps: readonly Step[], sequences = 8): TextEngine =>
  createScriptedEngine({ script: () => steps, sequences });
const WORD: readonly Step[] = [{ type: 'tokens', tokens: ['Hi', ' there'] }];

describe('a probe', () => {
  test('asks each unit for one token, and all of them at the same time', async () => {
    const asked: EngineRequest[] = [];
    const { promise: all, resolve } = Promise.withResolvers<void>();
    const inner = engineWith(WORD);
    const engine = lentEngine(inner, async (request, signal) => {
      asked.push(request);
      if (asked.length === 3) resolve();
      // Of those that are asked one after the other, the first would wait for ever.
      await all;
      return await inner.start(request, signal);
    });
    assert.deepEqual(await probeUnits([engine, engine, engine], OWNER, NEVER), [undefined, undefined, undefined]);
    assert.deepEqual(
      asked.map(({ maxTokens }) => maxTokens),
      [1, 1, 1],
    );
    assert.equal(new Set(asked.map(({ owner }) => owner.key)).size, 3, 'each is a key of its own');
  });

  test('tells of each unit why it gave none', async () => {
    const broken = engineWith([{ type: 'fail', kind: 'engine-failed' }]);
    const vanishing = engineWith([{ type: 'vanish' }]);
    const results = await probeUnits([engineWith(WORD), broken, vanishing], OWNER, NEVER);
    assert.deepEqual(
      results.map((result) => result?.kind),
      [undefined, 'engine-failed', 'engine-failed'],
    );
  });

  test('waits for an engine that starts, and not for one that fails', async () => {
    let state: TextEngine['state'] = 'starting';
    let asked = 0;
    const inner = engineWith(WORD);
    const refusal = new ServiceError('overloaded', 'not yet');
    const engine: TextEngine = {
      ...lentEngine(inner),
      get state() {
        return state;
      },
      async model() {
        asked++;
        if (asked < 3) throw refusal;
        state = 'ready';
        return await inner.model();
      },
    };
    assert.deepEqual(await probeUnits([engine, engine], OWNER, NEVER), [undefined, undefined]);
    assert.equal(asked, 3);
    const failing: TextEngine = {
      ...lentEngine(inner, () => Promise.reject(refusal)),
      state: 'failing',
      model: () => Promise.reject(refusal),
    };
    assert.deepEqual(await probeUnits([failing], OWNER, NEVER), [refusal]);
  });

  test('ends with its signal', async () => {
    const leaving = new AbortController();
    const probed = probeUnits([engineWith([{ type: 'hang' }])], OWNER, leaving.signal);
    leaving.abort(new ServiceError('cancelled', 'I left.'));
    await assert.rejects(probed, /I left/);
  });

  test('speaks to engines that take messages, too', async () => {
    let input = '';
    const inner = engineWith(WORD);
    const engine: TextEngine = {
      ...lentEngine(inner, (request, signal) => {
        input = request.input.type;
        return inner.start({ ...request, input: { type: 'segments', segments: [] } }, signal);
      }),
      capabilities: { ...inner.capabilities, input: 'chat' },
    };
    assert.deepEqual(await probeUnits([engine], OWNER, NEVER), [undefined]);
    assert.equal(input, 'messages');
  });
});
