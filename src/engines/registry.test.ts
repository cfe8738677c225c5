import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../core/error.ts';
import type { EngineRequest, TextEngine } from './engine.ts';
import { createRegistry } from './registry.ts';
import { createScriptedEngine } from './scripted/scripted-engine.ts';

const REQUEST: EngineRequest = {
  id: 'id',
  owner: { workspace: 'w', key: 'k' },
  input: { type: 'tokens', tokens: [1] },
  sampling: {},
  stop: { strings: [], tokens: [] },
  choices: 1,
  phases: [],
};

/** A registry, and which of its engines were made and closed. */
function createShelf(enginesMax: number) {
  const registry = createRegistry({ enginesMax });
  const made: string[] = [];
  const closed: string[] = [];
  const engineOf = (key: string): TextEngine => ({
    ...createScriptedEngine({ script: () => [{ type: 'tokens', tokens: ['a'] }, { type: 'hang' }] }),
    close: async () => void closed.push(key),
  });
  return {
    registry,
    made,
    closed,
    get: (key: string) =>
      registry.get(key, async () => {
        made.push(key);
        return engineOf(key);
      }),
    engineOf,
  };
}

describe('the registry of engines', () => {
  it('makes an engine once, also for callers that come together', async () => {
    const { get, made } = createShelf(2);
    const [a, b] = await Promise.all([get('a'), get('a')]);
    assert.equal(a, b);
    assert.equal(await get('a'), a);
    assert.deepEqual(made, ['a']);
  });

  it('closes the idle one that was used least recently when there is no room', async () => {
    const { get, closed, registry } = createShelf(2);
    await get('a');
    await get('b');
    await get('a');
    await get('c');
    assert.deepEqual(closed, ['b']);
    assert.deepEqual(registry.keys().toSorted(), ['a', 'c']);
  });

  it('closes none that is running, until its run ends', async () => {
    const { get, closed } = createShelf(1);
    const a = await get('a');
    const { batches } = await a.start(REQUEST, new AbortController().signal);
    await get('b');
    assert.deepEqual(closed, []);
    for await (const batch of batches) if (batch.length > 0) break;
    await get('c');
    assert.deepEqual(closed, ['a', 'b']);
  });

  it('counts a run as over when its caller is gone, read or not', async () => {
    const { get, closed } = createShelf(1);
    const caller = new AbortController();
    await (await get('a')).start(REQUEST, caller.signal);
    caller.abort();
    await get('b');
    assert.deepEqual(closed, ['a']);
  });

  it('counts a refused start as over', async () => {
    const { get, closed } = createShelf(1);
    const a = await get('a');
    await assert.rejects(a.start(REQUEST, AbortSignal.abort()), { kind: 'cancelled' });
    await get('b');
    assert.deepEqual(closed, ['a']);
  });

  it('does not close one that somebody is still waiting for', async () => {
    const { registry, closed, engineOf, get } = createShelf(1);
    const loading = Promise.withResolvers<TextEngine>();
    const a = registry.get('a', () => loading.promise);
    await get('b');
    loading.resolve(engineOf('a'));
    await a;
    assert.deepEqual(closed, []);
  });

  it('tries again after a failure', async () => {
    const { registry, get } = createShelf(1);
    const fault = new ServiceError('overloaded', 'downloading');
    await assert.rejects(
      registry.get('a', () => Promise.reject(fault)),
      fault,
    );
    assert.deepEqual(registry.keys(), []);
    assert.ok(await get('a'));
  });

  it('closes all, and one by name', async () => {
    const { get, closed, registry } = createShelf(5);
    for (const key of ['a', 'b', 'c']) await get(key);
    await registry.drop('b');
    await registry.drop('never made');
    assert.deepEqual(closed, ['b']);
    await registry.close();
    assert.deepEqual(closed, ['b', 'a', 'c']);
    assert.deepEqual(registry.keys(), []);
  });
});
