import {
  LANGUAGES_KEPT_MAX,
  LANGUAGES_KEPT_RANGES_MAX,
  PROPERTIES_KEPT_MAX,
  PROPERTIES_KEPT_RANGES_MAX,
} from '../core/limits.ts';
import { createLru } from '../lib/lru.ts';
import type { Automaton } from './automaton.ts';
import { charactersWith } from './character-escape.ts';
import type { CharacterSet } from './characters.ts';
import type { Work } from './work.ts';

/** What schemas have in common: formats, character properties, patterns and ranges that were worked out before. */
export interface LanguageMemory {
  /** Of `p{…}` or `P{…}`. */
  propertySet(property: string): CharacterSet;
  /** What `make` makes. What it took counts again each time, so that no schema depends on those before it. */
  automaton(key: string, work: Work, make: () => Automaton): Automaton;
}

/** For one schema, or for as many as there are: it is bounded, and forgets what was unused for longest. */
export function createLanguageMemory(): LanguageMemory {
  const properties = createLru<CharacterSet>({
    entriesMax: PROPERTIES_KEPT_MAX,
    weightMax: PROPERTIES_KEPT_RANGES_MAX,
  });
  const automata = createLru<{ readonly automaton: Automaton; readonly steps: number }>({
    entriesMax: LANGUAGES_KEPT_MAX,
    weightMax: LANGUAGES_KEPT_RANGES_MAX,
  });
  return {
    propertySet(property) {
      const known = properties.get(property);
      if (known) return known;
      const set = charactersWith(property);
      properties.set(property, set, set.length);
      return set;
    },
    automaton(key, work, make) {
      const known = automata.get(key);
      if (known) {
        work.add(known.steps);
        return known.automaton;
      }
      const before = work.done;
      const automaton = make();
      const size = automaton.states.reduce((sum, { moves }) => sum + 1 + moves.length, 0);
      automata.set(key, { automaton, steps: work.done - before }, size);
      return automaton;
    },
  };
}
