import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { systemClock } from '../lib/clock.ts';
import type { TextEngine } from './engine.ts';
import { createRegistry } from './registry.ts';
import type { RegistryOptions } from './registry.ts';
import { createScriptedEngine } from './scripted/scripted-engine.ts';

/** A registry, and which of its engines were made and closed. */
function createShelf(enginesMax: number, more: Pick<Partial<RegistryOptions>, 'recall' | 'clock'> = {}) {
  const registry = createRegistry<TextEngine>({ enginesMax, clock: systemClock, ...more });
  const made: string[] = [];
  const closed: string[] = [];
  const engineOf = (key: string): TextEngine => ({
    ...createScriptedEngine({ script: () => [] }),
    close: async () => void closed.push(key),
  });
  const lease = (key: string) =>
    registry.lease(key, async () => {
      made.push(key);
      return engineOf(key);
    });
  const use = async (key: string): Promise<void> => (await lease(key)).release();
  return { registry, made, closed, lease, use, engineOf };
}

describe('the registry of engines', () => {
  it('makes an engine once, also for callers that come together', async () => {
    const { lease, made } = createShelf(2);
    const [a, b] = await Promise.all([lease('a'), lease('a')]);
    assert.equal(a.engine, b.engine);
    assert.equal((await lease('a')).engine, a.engine);
    assert.deepEqual(made, ['a']);
  });

  it('closes the idle one that was used least recently when there is no room', async () => {
    const { use, closed, registry } = createShelf(2);
    await use('a');
    await use('b');
    await use('a');
    await use('c');
    assert.deepEqual(closed, ['b']);
    assert.deepEqual(registry.keys().toSorted(), ['a', 'c']);
  });

  it('closes none that is leased, until every lease is released', async () => {
    const { lease, use, closed } = createShelf(1);
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

  it('does not close one that somebody is still waiting for', async () => {
    const { registry, closed, engineOf, use } = createShelf(1);
    const loading = Promise.withResolvers<TextEngine>();
    const a = registry.lease('a', () => loading.promise);
    await use('b');
    loading.resolve(engineOf('a'));
    await a;
    assert.deepEqual(closed, []);
  });

  it('tries again after a failure, and holds nothing for it', async () => {
    const { registry, use, closed } = createShelf(1);
    const fault = new ServiceError('overloaded', 'downloading');
    await assert.rejects(
      registry.lease('a', () => Promise.reject(fault)),
      fault,
    );
    await use('a');
    await use('b');
    assert.deepEqual(closed, ['a']);
  });

  it('asks holders elsewhere before it makes room, and believes when they used it last', async () => {
    let now = 0;
    const held: (() => void)[] = [];
    const recall = async (): Promise<void> => {
      for (const release of held.splice(0)) release();
    };
    const { lease, use, closed } = createShelf(2, { recall, clock: { monotonic: () => now } });
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

  it('closes those idle ones that are meant', async () => {
    const { lease, use, closed, registry } = createShelf(3);
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

  it('closes all', async () => {
    const { registry, use, closed } = createShelf(3);
    await use('a');
    await use('b');
    await registry.close();
    assert.deepEqual(closed.toSorted(), ['a', 'b']);
  });
});
