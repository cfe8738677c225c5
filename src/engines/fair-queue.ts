import type { Priority } from '../core/context.ts';
import { BACKGROUND_QUEUE_SHARE } from './limits.ts';
import type { EngineOwner } from './engine.ts';

/**
 * Queue of waiting requests in three classes: all reserved ones come before all live ones, and those before all
 * background ones. Within a class, workspaces take turns, then the keys of a workspace, then requests by arrival. Each
 * class has its own length limit, and a limit per key.
 */
export interface FairQueue<T> {
  readonly length: number;
  /** `key-share`: the key already has half of the class's entries. */
  add(owner: EngineOwner, item: T): 'added' | 'full' | 'key-share';
  /** Returns the next item. It stays next until `take`, unless an item of a higher class arrives. */
  peek(): T | undefined;
  /** Returns the next item of each key, all of the class that `peek` returns one of, in the order of their turns. */
  peekEach(): readonly T[];
  /**
   * Removes an item that `peekEach` returned, and moves its workspace and key to the end of their rotations.
   * @returns false if it does not wait any more.
   */
  take(item: T): boolean;
  remove(item: T): boolean;
}

/** @param lengthMax Length limit of live requests. Reserved requests have a separate limit of the same size. */
export function createFairQueue<T>({ lengthMax }: { lengthMax: number }): FairQueue<T> {
  const queues: Readonly<Record<Priority, FairQueue<T>>> = {
    reserved: createRoundRobinQueue<T>(lengthMax),
    live: createRoundRobinQueue<T>(lengthMax),
    background: createRoundRobinQueue<T>(Math.max(1, Math.floor(lengthMax * BACKGROUND_QUEUE_SHARE))),
  };
  const { reserved, live, background } = queues;
  const firstQueue = (): FairQueue<T> => (reserved.length > 0 ? reserved : live.length > 0 ? live : background);

  return {
    get length() {
      return reserved.length + live.length + background.length;
    },
    add: (owner, item) => queues[owner.priority ?? 'live'].add(owner, item),
    peek: () => firstQueue().peek(),
    peekEach: () => firstQueue().peekEach(),
    // A request of a higher class may have arrived since the item was the next one.
    take: (item) => reserved.take(item) || live.take(item) || background.take(item),
    remove: (item) => reserved.remove(item) || live.remove(item) || background.remove(item),
  };
}

/** An entry of a rotation; the first entry of the list is served next. */
interface RoundRobinEntry<T> {
  readonly id: string;
  readonly items: T[];
}

function createRoundRobinQueue<T>(lengthMax: number): FairQueue<T> {
  const workspaces: RoundRobinEntry<RoundRobinEntry<T>>[] = [];
  const keyLengthMax = Math.max(1, Math.floor(lengthMax / 2));
  let length = 0;

  const findOrCreate = <I>(entries: RoundRobinEntry<I>[], entryId: string): RoundRobinEntry<I> => {
    let entry = entries.find((candidate) => candidate.id === entryId);
    if (!entry) {
      entry = { id: entryId, items: [] };
      entries.push(entry);
    }
    return entry;
  };

  const dropEmpty = (): void => {
    for (let w = workspaces.length - 1; w >= 0; w--) {
      const keys = workspaces[w]?.items ?? [];
      for (let k = keys.length - 1; k >= 0; k--) if (keys[k]?.items.length === 0) keys.splice(k, 1);
      if (keys.length === 0) workspaces.splice(w, 1);
    }
  };

  return {
    get length() {
      return length;
    },
    add({ workspace, key }, item) {
      const keyEntry = findOrCreate(findOrCreate(workspaces, workspace).items, key);
      const result = keyEntry.items.length >= keyLengthMax ? 'key-share' : length >= lengthMax ? 'full' : 'added';
      if (result === 'added') {
        keyEntry.items.push(item);
        length++;
      }
      dropEmpty();
      return result;
    },
    peek: () => workspaces[0]?.items[0]?.items[0],
    peekEach: () => workspaces.flatMap(({ items }) => items.flatMap((key) => key.items.slice(0, 1))),
    take(item) {
      const workspace = workspaces.find(({ items }) => items.some((key) => key.items[0] === item));
      const key = workspace?.items.find(({ items }) => items[0] === item);
      if (!workspace || !key) return false;
      key.items.shift();
      length--;
      moveToEnd(workspace.items, key);
      moveToEnd(workspaces, workspace);
      dropEmpty();
      return true;
    },
    remove(item) {
      for (const workspace of workspaces)
        for (const key of workspace.items) {
          const at = key.items.indexOf(item);
          if (at < 0) continue;
          key.items.splice(at, 1);
          length--;
          dropEmpty();
          return true;
        }
      return false;
    },
  };
}

function moveToEnd<T>(list: T[], item: T): void {
  list.splice(list.indexOf(item), 1);
  list.push(item);
}
