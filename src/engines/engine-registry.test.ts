import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { systemClock } from '../lib/clock.ts';
import type { TextEngine } from './engine.ts';
import { createEngineRegistry, type EngineRegistryOptions } from './engine-registry.ts';
import { createScriptedEngine } from './scripted/scripted-engine.ts';

/** A registry that records which engines were created and closed. */
function createTestRegistry(
  enginesMax: number,
  more: Pick<Partial<EngineRegistryOptions>, 'recallLeases' | 'clock'> = {},
) {
  const registry = createEngineRegistry<TextEngine>({ enginesMax, clock: systemClock, ...more });
  const made: string[] = [];
  const closed: string[] = [];
  const createEngine = (key: string): TextEngine => ({
    ...createScriptedEngine({ script: () => [] }),
    close: async () => void closed.push(key),
  });
  const lease = (key: string) =>
    registry.lease(key, async () => {
      made.push(key);
      return createEngine(key);
    });
  const use = async (key: string): Promise<void> => (await lease(key)).release();
  return { registry, made, closed, lease, use, createEngine };
}

describe('createEngineRegistry', () => {
  it('closes engines that are no longer needed, and leased ones when their last lease ends', async () => {
    const { registry, lease, use, closed, made } = createTestRegistry(Infinity);
    await use('kept');
    await use('idle');
    const busy = await lease('busy');
    const back = await lease('back');
    await registry.retire((key) => key === 'kept');
    assert.deepEqual(closed, ['idle']);
    busy.release();
    const again = await lease('back');
    back.release();
    again.release();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(closed, ['idle', 'busy'], 'an engine that is leased again stays');
    await use('kept');
    assert.deepEqual(made, ['kept', 'idle', 'busy', 'back']);
  });

  it('creates an engine once, also for concurrent callers', async () => {
    const { lease, made } = createTestRegistry(2);
    const [a, b] = await Promise.all([lease('a'), lease('a')]);
    assert.equal(a.engine, b.engine);
    assert.equal((await lease('a')).engine, a.engine);
    assert.deepEqual(made, ['a']);
  });

  it('finds an engine only while it is open', async () => {
    const { lease, registry } = createTestRegistry(2);
    const leased = lease('a');
    assert.equal(registry.find('a'), undefined, 'it is being created');
    const { engine, release } = await leased;
    assert.equal(registry.find('a'), engine);
    release();
    await registry.retire(() => false);
    assert.equal(registry.find('a'), undefined);
  });

  it('closes the least recently used idle engine when the limit is exceeded', async () => {
    const { use, closed, registry } = createTestRegistry(2);
    await use('a');
    await use('b');
    await use('a');
    await use('c');
    assert.deepEqual(closed, ['b']);
    assert.deepEqual(
      ['a', 'b', 'c'].filter((key) => registry.getState(key) !== undefined),
      ['a', 'c'],
    );
  });

  it('closes no leased engine until every lease is released', async () => {
    const { lease, use, closed } = createTestRegistry(1);
    const first = await lease('a');
    const second = await lease('a');
    await use('b');
    first.release();
    first.release();
    await use('c');
    assert.deepEqual(closed, ['b']);
    second.release();
    await use('d');
    assert.deepEqual(closed, ['b', 'c', 'a']);
  });

  it('does not close an engine that a caller is waiting for', async () => {
    const { registry, closed, createEngine, use } = createTestRegistry(1);
    const loading = Promise.withResolvers<TextEngine>();
    const a = registry.lease('a', () => loading.promise);
    await use('b');
    loading.resolve(createEngine('a'));
    await a;
    assert.deepEqual(closed, []);
  });

  it('tries again after a failure, and keeps no lease for it', async () => {
    const { registry, use, closed } = createTestRegistry(1);
    const fault = new ServiceError('overloaded', 'downloading');
    await assert.rejects(
      registry.lease('a', () => Promise.reject(fault)),
      fault,
    );
    await use('a');
    await use('b');
    assert.deepEqual(closed, ['a']);
  });

  it('recalls leases of other processes before it evicts, and respects their last use', async () => {
    let now = 0;
    const held: (() => void)[] = [];
    const recall = async (): Promise<void> => {
      for (const release of held.splice(0)) release();
    };
    const { lease, use, closed } = createTestRegistry(2, { recallLeases: recall, clock: { monotonic: () => now } });
    const a = await lease('a');
    now = 1_000;
    const b = await lease('b');
    now = 100_000;
    held.push(
      () => a.release(10),
      () => b.release(60_000),
    );
    await use('c');
    assert.deepEqual(closed, ['b']);
    assert.equal(held.length, 0);
  });

  it('closes the idle engines that closeIdle selects', async () => {
    const { lease, use, closed, registry } = createTestRegistry(3);
    const busy = await lease('a');
    await use('b');
    await registry.closeIdle(() => false);
    assert.deepEqual(closed, []);
    await registry.closeIdle(() => true);
    assert.deepEqual(closed, ['b']);
    busy.release();
    await registry.closeIdle(() => true);
    assert.deepEqual(closed, ['b', 'a']);
  });

  it('closes all engines', async () => {
    const { registry, use, closed } = createTestRegistry(3);
    await use('a');
    await use('b');
    await registry.close();
    assert.deepEqual(closed.toSorted(), ['a', 'b']);
  });
});
