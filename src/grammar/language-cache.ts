import { LRUCache } from 'lru-cache';
import {
  AUTOMATON_CACHE_ENTRIES_MAX,
  AUTOMATON_CACHE_RANGES_MAX,
  CHARACTER_SET_CACHE_ENTRIES_MAX,
  CHARACTER_SET_CACHE_RANGES_MAX,
} from './limits.ts';
import type { Automaton } from './automaton.ts';
import { findCharactersWithProperty } from './character-escape.ts';
import type { CharacterSet } from './character-set.ts';
import type { WorkBudget } from './work-budget.ts';

/** Cache of what schemas have in common: automata of formats, patterns and ranges, and character properties. */
export interface LanguageCache {
  /** Returns the characters of `p{…}` or `P{…}`. */
  getPropertySet(property: string): CharacterSet;
  /**
   * Returns the cached automaton or creates it. A hit counts the same work, so that limits do not depend on the cache.
   */
  getAutomaton(key: string, work: WorkBudget, make: () => Automaton): Automaton;
}

/** Creates a bounded cache that evicts the least recently used entries; for one schema or for many. */
export function createLanguageCache(): LanguageCache {
  const properties = new LRUCache<string, CharacterSet>({
    max: CHARACTER_SET_CACHE_ENTRIES_MAX,
    maxSize: CHARACTER_SET_CACHE_RANGES_MAX,
    sizeCalculation: (set) => Math.max(1, set.length),
    memoMethod: findCharactersWithProperty,
  });
  const automata = new LRUCache<string, { readonly automaton: Automaton; readonly steps: number }>({
    max: AUTOMATON_CACHE_ENTRIES_MAX,
    maxSize: AUTOMATON_CACHE_RANGES_MAX,
  });
  return {
    getPropertySet: (property) => properties.memo(property),
    getAutomaton(key, work, make) {
      const cached = automata.get(key);
      if (cached) {
        work.add(cached.steps);
        return cached.automaton;
      }
      const before = work.stepsDone;
      const automaton = make();
      const size = automaton.states.reduce((sum, { transitions }) => sum + 1 + transitions.length, 0);
      automata.set(key, { automaton, steps: work.stepsDone - before }, { size: Math.max(1, size) });
      return automaton;
    },
  };
}
