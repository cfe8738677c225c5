import type { Priority } from '../core/context.ts';
import { BACKGROUND_PLACES_SHARE } from '../core/limits.ts';
import type { EngineOwner } from './engine.ts';

/**
 * Waiting requests: the reserved ones, behind all of them the live ones, and behind all of those the background ones. Each
 * kind is in turn by workspace, then by key, then by arrival, and bounded in places and in places of one key, for itself.
 */
export interface FairQueue<T> {
  readonly length: number;
  add(owner: EngineOwner, item: T): 'added' | 'full' | 'key-share';
  /** Whose turn it is. Stays there until `take`, unless one comes that goes before it. */
  peek(): T | undefined;
  /** Removes what `peek` shows; its workspace and key go to the end of the turn. */
  take(): void;
  remove(item: T): boolean;
}

/** @param placesMax Of live requests; there are as many for reserved ones, which take none from them. */
export function createFairQueue<T>({ placesMax }: { placesMax: number }): FairQueue<T> {
  const rings: Readonly<Record<Priority, FairQueue<T>>> = {
    reserved: createRing<T>(placesMax),
    live: createRing<T>(placesMax),
    background: createRing<T>(Math.max(1, Math.floor(placesMax * BACKGROUND_PLACES_SHARE))),
  };
  const { reserved, live, background } = rings;
  const first = (): FairQueue<T> => (reserved.length > 0 ? reserved : live.length > 0 ? live : background);

  return {
    get length() {
      return reserved.length + live.length + background.length;
    },
    add: (owner, item) => rings[owner.priority ?? 'live'].add(owner, item),
    peek: () => first().peek(),
    take: () => first().take(),
    remove: (item) => reserved.remove(item) || live.remove(item) || background.remove(item),
  };
}

/** A ring of names whose first one has the turn. */
interface Turn<T> {
  readonly name: string;
  readonly waiting: T[];
}

function createRing<T>(placesMax: number): FairQueue<T> {
  const workspaces: Turn<Turn<T>>[] = [];
  const keyPlacesMax = Math.max(1, Math.floor(placesMax / 2));
  let length = 0;

  const find = <I>(turns: Turn<I>[], name: string): Turn<I> => {
    let turn = turns.find((other) => other.name === name);
    if (!turn) {
      turn = { name, waiting: [] };
      turns.push(turn);
    }
    return turn;
  };

  const dropEmpty = (): void => {
    for (let w = workspaces.length - 1; w >= 0; w--) {
      const keys = workspaces[w]?.waiting ?? [];
      for (let k = keys.length - 1; k >= 0; k--) if (keys[k]?.waiting.length === 0) keys.splice(k, 1);
      if (keys.length === 0) workspaces.splice(w, 1);
    }
  };

  return {
    get length() {
      return length;
    },
    add({ workspace, key }, item) {
      const ofKey = find(find(workspaces, workspace).waiting, key);
      const verdict = ofKey.waiting.length >= keyPlacesMax ? 'key-share' : length >= placesMax ? 'full' : 'added';
      if (verdict === 'added') {
        ofKey.waiting.push(item);
        length++;
      }
      dropEmpty();
      return verdict;
    },
    peek: () => workspaces[0]?.waiting[0]?.waiting[0],
    take() {
      const workspace = workspaces.shift();
      const key = workspace?.waiting.shift();
      if (!workspace || !key) return;
      key.waiting.shift();
      length--;
      workspace.waiting.push(key);
      workspaces.push(workspace);
      dropEmpty();
    },
    remove(item) {
      for (const workspace of workspaces)
        for (const key of workspace.waiting) {
          const at = key.waiting.indexOf(item);
          if (at < 0) continue;
          key.waiting.splice(at, 1);
          length--;
          dropEmpty();
          return true;
        }
      return false;
    },
  };
}
