import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { createScriptedEngine, type ScriptStep } from '../../engines/scripted/scripted-engine.ts';
import { until } from '../../../test/until.ts';
import { collectText, createTestRequest } from './__fixtures__/fake-units.ts';
import { createEngineView } from './engine-view.ts';
import { createDrainableEngine } from './drainable-engine.ts';

const TIMEOUT = { timeoutMs: 10_000 };
const HANG: readonly ScriptStep[] = [{ type: 'tokens', tokens: ['one '] }, { type: 'hang' }];

describe('createDrainableEngine', () => {
  let closeCount = 0;
  let finishedRuns = 0;
  beforeEach(() => {
    closeCount = 0;
    finishedRuns = 0;
  });
  const createEngine = (drainMs: number, steps: readonly ScriptStep[] = [{ type: 'tokens', tokens: ['one '] }]) =>
    createDrainableEngine({
      engine: createScriptedEngine({ script: () => steps, onRunEnd: () => void finishedRuns++ }),
      name: 'svc-plus-a',
      drainMs,
      close: async () => void closeCount++,
    });

  test('closes an engine without leases at once, and only once', async () => {
    const drainable = createEngine(60_000);
    const { engine, release } = drainable.lease();
    assert.equal(await collectText(engine), 'one ');
    release();
    await Promise.all([drainable.retire(), drainable.retire()]);
    assert.equal(closeCount, 1);
  });

  test('closes the engine after the last lease, counting a repeated release once', async () => {
    const drainable = createEngine(60_000);
    const [first, second] = [drainable.lease(), drainable.lease()];
    const retired = drainable.retire();
    first.release();
    first.release();
    assert.equal(await collectText(second.engine), 'one ');
    assert.equal(closeCount, 0);
    second.release();
    await retired;
    assert.equal(closeCount, 1);
  });

  test('aborts calls that exceed the drain time, and says why', async () => {
    const drainable = createEngine(30, HANG);
    const { engine } = drainable.lease();
    const aborted = assert.rejects(
      collectText(engine),
      (error) =>
        error instanceof ServiceError &&
        error.kind === 'engine-failed' &&
        error.message ===
          'Deployment svc-plus-a was scaled or deleted 0.03 s ago, and this response was not complete within that time.',
    );
    await drainable.retire();
    await aborted;
    assert.equal(closeCount, 1);
    await until('the run to end in the engine', TIMEOUT, async () => (finishedRuns === 1 ? true : undefined));
    await assert.rejects(engine.start(createTestRequest(), new AbortController().signal), /was scaled or deleted/);
  });

  test('reports the reason of the abort instead of the error of the engine', async () => {
    const inner = createScriptedEngine({ script: () => HANG });
    const engine = createEngineView(inner, async (request, signal) => {
      const started = await inner.start(request, signal);
      const batches = (async function* () {
        try {
          yield* started.batches;
        } catch {
          throw new ServiceError('upstream-failed', 'The connection was closed.');
        }
      })();
      return { ...started, batches };
    });
    const drainable = createDrainableEngine({ engine, name: 'svc-plus-a', drainMs: 30, close: async () => undefined });
    const aborted = assert.rejects(collectText(drainable.lease().engine), /was scaled or deleted/);
    await drainable.retire();
    await aborted;
  });

  test('aborts running calls when the service shuts down', async () => {
    const drainable = createEngine(60_000, HANG);
    const { engine } = drainable.lease();
    const aborted = assert.rejects(collectText(engine), /The service is shutting down/);
    const retired = drainable.retire();
    drainable.abort();
    await Promise.all([aborted, retired]);
    assert.equal(closeCount, 1);
  });

  test('gives a view that cannot close the engine, and passes its properties on', async () => {
    const drainable = createEngine(60_000);
    const { engine } = drainable.lease();
    await engine.close();
    assert.equal(closeCount, 0);
    assert.deepEqual([engine.state, engine.capabilities.input], ['ready', 'prompt']);
    assert.ok((await engine.countTokens(createTestRequest().input)) > 0);
    assert.ok(engine.embeddings);
  });

  test("passes on a caller's abort and an engine's failure unchanged", async () => {
    const failing = createEngine(60_000, [
      { type: 'tokens', tokens: ['one '] },
      { type: 'fail', kind: 'overloaded' },
    ]);
    await assert.rejects(
      collectText(failing.lease().engine),
      (error) => error instanceof ServiceError && error.kind === 'overloaded',
    );
    const controller = new AbortController();
    const aborted = assert.rejects(
      collectText(createEngine(60_000, HANG).lease().engine, 'Hello', controller.signal),
      /I left/,
    );
    controller.abort(new ServiceError('cancelled', 'I left.'));
    await aborted;
  });
});
