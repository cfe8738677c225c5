import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createFairQueue } from './fair-queue.ts';

const drain = (queue: ReturnType<typeof createFairQueue<string>>): string[] => {
  const order: string[] = [];
  for (let item = queue.peek(); item !== undefined; item = queue.peek()) {
    order.push(item);
    queue.take(item);
  }
  return order;
};

describe('createFairQueue', () => {
  it('rotates the workspaces, then their keys, then serves by arrival', () => {
    const queue = createFairQueue<string>({ lengthMax: 100 });
    for (const item of ['a/k1/1', 'a/k1/2', 'a/k1/3', 'a/k2/1', 'b/k1/1', 'b/k1/2', 'c/k1/1']) {
      const [workspace = '', key = ''] = item.split('/');
      assert.equal(queue.add({ workspace, key }, item), 'added');
    }
    assert.deepEqual(drain(queue), ['a/k1/1', 'b/k1/1', 'c/k1/1', 'a/k2/1', 'b/k1/2', 'a/k1/2', 'a/k1/3']);
  });

  it('keeps the next item until it is taken or removed', () => {
    const queue = createFairQueue<string>({ lengthMax: 10 });
    queue.add({ workspace: 'a', key: 'k' }, 'a1');
    queue.add({ workspace: 'b', key: 'k' }, 'b1');
    assert.equal(queue.peek(), 'a1');
    assert.equal(queue.peek(), 'a1');
    assert.equal(queue.remove('a1'), true);
    assert.equal(queue.remove('a1'), false);
    assert.equal(queue.peek(), 'b1');
  });

  it('leaves nothing behind when it rejects an item', () => {
    const queue = createFairQueue<string>({ lengthMax: 2 });
    assert.equal(queue.add({ workspace: 'a', key: 'k' }, 'a1'), 'added');
    assert.equal(queue.add({ workspace: 'a', key: 'k' }, 'a2'), 'key-share');
    assert.equal(queue.add({ workspace: 'b', key: 'k' }, 'b1'), 'added');
    assert.equal(queue.add({ workspace: 'c', key: 'k' }, 'c1'), 'full');
    assert.deepEqual(drain(queue), ['a1', 'b1']);
    assert.equal(queue.add({ workspace: 'c', key: 'k' }, 'c1'), 'added');
  });

  it('serves background items only when no live one waits, and with the same fairness', () => {
    const queue = createFairQueue<string>({ lengthMax: 100 });
    for (const item of ['a/k1/1', 'a/k1/2', 'b/k1/1']) {
      const [workspace = '', key = ''] = item.split('/');
      assert.equal(queue.add({ workspace, key, priority: 'background' }, item), 'added');
    }
    assert.equal(queue.peek(), 'a/k1/1');
    queue.add({ workspace: 'a', key: 'k1', priority: 'live' }, 'live 1');
    queue.add({ workspace: 'a', key: 'k1' }, 'live 2');
    assert.equal(queue.length, 5);
    assert.deepEqual(drain(queue), ['live 1', 'live 2', 'a/k1/1', 'b/k1/1', 'a/k1/2']);
    assert.equal(queue.length, 0);
  });

  it('serves reserved items before all others, with the same fairness and their own limit', () => {
    const queue = createFairQueue<string>({ lengthMax: 4 });
    const add = (name: string, priority: 'reserved' | 'live' | 'background') => {
      const [workspace = ''] = name.split('/');
      return queue.add({ workspace, key: name, priority }, name);
    };
    for (const name of ['a/1', 'a/2', 'b/3', 'b/4']) assert.equal(add(name, 'live'), 'added');
    assert.equal(add('c/5', 'live'), 'full');
    assert.equal(add('c/6', 'background'), 'added');
    for (const name of ['d/7', 'd/8', 'e/9', 'e/10']) assert.equal(add(name, 'reserved'), 'added');
    assert.equal(add('f/11', 'reserved'), 'full');
    assert.deepEqual(drain(queue), ['d/7', 'e/9', 'd/8', 'e/10', 'a/1', 'b/3', 'a/2', 'b/4', 'c/6']);
  });

  it('limits background items to half the length, separately from live items', () => {
    const queue = createFairQueue<string>({ lengthMax: 8 });
    const add = (key: string, priority: 'live' | 'background') => queue.add({ workspace: 'w', key, priority }, key);
    const added = (count: number): string[] => Array.from({ length: count }, () => 'added');
    const verdicts = ['k', 'k', 'k', 'l', 'l', 'm'].map((key) => add(key, 'background'));
    assert.deepEqual(verdicts, ['added', 'added', 'key-share', 'added', 'added', 'full']);
    assert.deepEqual(
      Array.from({ length: 5 }, () => add('k', 'live')),
      [...added(4), 'key-share'],
    );
    assert.deepEqual(
      Array.from({ length: 4 }, () => add('l', 'live')),
      added(4),
    );
    assert.equal(add('m', 'live'), 'full');
    assert.equal(queue.remove('k'), true);
    assert.equal(queue.length, 11);
  });

  it('keeps its count, returns each item once, and serves every workspace within one rotation', () => {
    const owner = fc.record({ workspace: fc.constantFrom('a', 'b', 'c'), key: fc.constantFrom('k', 'l') });
    const step = fc.oneof(
      fc.record({ add: owner }),
      fc.constant({ take: true } as const),
      fc.record({ remove: fc.nat({ max: 20 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const queue = createFairQueue<string>({ lengthMax: 12 });
        const inside = new Map<string, string>();
        let added = 0;
        let lastWorkspace: string | undefined;
        for (const one of steps) {
          if ('add' in one) {
            const name = `item ${added++}`;
            if (queue.add(one.add, name) === 'added') inside.set(name, one.add.workspace);
          } else if ('take' in one) {
            const item = queue.peek();
            if (item === undefined) continue;
            queue.take(item);
            const workspace = inside.get(item);
            assert.ok(workspace !== undefined, 'an item came out twice');
            inside.delete(item);
            const others = new Set(inside.values()).difference(new Set([workspace]));
            if (workspace === lastWorkspace && others.size > 0) {
              // Only a workspace that was added since may have to wait behind it.
              const next = queue.peek();
              assert.ok(next !== undefined && inside.get(next) !== workspace);
            }
            lastWorkspace = workspace;
          } else {
            const name = `item ${one.remove}`;
            assert.equal(queue.remove(name), inside.delete(name));
          }
          assert.equal(queue.length, inside.size);
          assert.equal(queue.length, inside.size);
        }
        assert.deepEqual(new Set(drain(queue)), new Set(inside.keys()));
      }),
    );
  });
});
