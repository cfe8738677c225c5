import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import type { Step } from '../../engines/scripted/scripted-engine.ts';
import { until } from '../../../test/until.ts';
import { hear, request } from './__fixtures__/played-units.ts';
import { lentEngine } from './lent-engine.ts';
import { createServing } from './serving.ts';

const PATIENCE = { withinMs: 10_000 };
const HANG: readonly Step[] = [{ type: 'tokens', tokens: ['one '] }, { type: 'hang' }];

describe('an engine that another one takes the place of', () => {
  let closed = 0;
  let ended = 0;
  beforeEach(() => {
    closed = 0;
    ended = 0;
  });
  const serve = (drainMs: number, steps: readonly Step[] = [{ type: 'tokens', tokens: ['one '] }]) =>
    createServing({
      engine: createScriptedEngine({ script: () => steps, onRunEnd: () => void ended++ }),
      name: 'svc-plus-a',
      drainMs,
      close: async () => void closed++,
    });

  test('is closed at once where nobody works with it, and once', async () => {
    const serving = serve(60_000);
    const { engine, release } = serving.lease();
    assert.equal(await hear(engine), 'one ');
    release();
    await Promise.all([serving.retire(), serving.retire()]);
    assert.equal(closed, 1);
  });

  test('is closed with the last of its leases, each of which counts once', async () => {
    const serving = serve(60_000);
    const [first, second] = [serving.lease(), serving.lease()];
    const retired = serving.retire();
    first.release();
    first.release();
    assert.equal(await hear(second.engine), 'one ');
    assert.equal(closed, 0);
    second.release();
    await retired;
    assert.equal(closed, 1);
  });

  test('breaks off what goes on beyond its limit, and says why', async () => {
    const serving = serve(30, HANG);
    const { engine } = serving.lease();
    const heard = assert.rejects(
      hear(engine),
      (error) =>
        error instanceof ServiceError &&
        error.kind === 'engine-failed' &&
        error.message === 'Deployment svc-plus-a was scaled or deleted 0.03 s ago, and this answer had not ended.',
    );
    await serving.retire();
    await heard;
    assert.equal(closed, 1);
    await until('the run has ended in the engine', PATIENCE, async () => (ended === 1 ? true : undefined));
    await assert.rejects(engine.start(request(), new AbortController().signal), /was scaled or deleted/);
  });

  test('says why also where the engine has words of its own for it', async () => {
    const inner = createScriptedEngine({ script: () => HANG });
    const engine = lentEngine(inner, async (asked, signal) => {
      const started = await inner.start(asked, signal);
      const batches = (async function* () {
        try {
          yield* started.batches;
        } catch {
          throw new ServiceError('upstream-failed', 'The connection was closed.');
        }
      })();
      return { ...started, batches };
    });
    const serving = createServing({ engine, name: 'svc-plus-a', drainMs: 30, close: async () => undefined });
    const heard = assert.rejects(hear(serving.lease().engine), /was scaled or deleted/);
    await serving.retire();
    await heard;
  });

  test('is cut off where the service ends', async () => {
    const serving = serve(60_000, HANG);
    const { engine } = serving.lease();
    const heard = assert.rejects(hear(engine), /The service ends/);
    const retired = serving.retire();
    serving.cut();
    await Promise.all([heard, retired]);
    assert.equal(closed, 1);
  });

  test('cannot be closed by those who work with it, and tells what it is', async () => {
    const serving = serve(60_000);
    const { engine } = serving.lease();
    await engine.close();
    assert.equal(closed, 0);
    assert.deepEqual([engine.state, engine.capabilities.input], ['ready', 'prompt']);
    assert.ok((await engine.countTokens(request().input)) > 0);
    assert.ok(engine.embeddings);
  });

  test("lets a caller's own going and the engine's own failure be as they are", async () => {
    const failing = serve(60_000, [
      { type: 'tokens', tokens: ['one '] },
      { type: 'fail', kind: 'overloaded' },
    ]);
    await assert.rejects(
      hear(failing.lease().engine),
      (error) => error instanceof ServiceError && error.kind === 'overloaded',
    );
    const leaving = new AbortController();
    const hanging = assert.rejects(hear(serve(60_000, HANG).lease().engine, 'Hello', leaving.signal), /I left/);
    leaving.abort(new ServiceError('cancelled', 'I left.'));
    await hanging;
  });
});
