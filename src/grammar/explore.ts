import { AUTOMATON_CELLS_MAX, AUTOMATON_STATES_EXPLORED_MAX } from '../core/limits.ts';
import { AutomatonLimitError } from './automaton-limit.ts';
import type { CharacterSet } from './characters.ts';
import type { Work } from './work.ts';

/** Where there is no move. */
export const NOWHERE = -1;

/** A deterministic automaton over letters; may have dead and equivalent states. State 0 is the start. */
export interface Table {
  readonly letters: readonly CharacterSet[];
  readonly rows: readonly Row[];
}

export interface Row {
  readonly accepts: boolean;
  /** Per letter, the next state, or NOWHERE. */
  readonly next: readonly number[];
}

export interface Exploration<Place> {
  readonly letters: readonly CharacterSet[];
  readonly work: Work;
  readonly start: Place;
  /** Places with the same key are one state. */
  readonly keyOf: (place: Place) => string | number;
  readonly accepts: (place: Place) => boolean;
  readonly step: (place: Place) => readonly (Place | undefined)[];
}

/** Finds all states that can be reached, from a description of one step. Throws AutomatonLimitError. */
export function explore<Place>({ letters, work, start, keyOf, accepts, step }: Exploration<Place>): Table {
  const numbers = new Map<string | number, number>([[keyOf(start), 0]]);
  const places = [start];
  const rows: Row[] = [];
  // The list grows while it is read.
  for (const place of places) {
    const next = step(place).map((target) => {
      if (target === undefined) return NOWHERE;
      const key = keyOf(target);
      let number = numbers.get(key);
      if (number === undefined) numbers.set(key, (number = places.push(target) - 1));
      return number;
    });
    rows.push({ accepts: accepts(place), next });
    work.add(letters.length);
    if (places.length > AUTOMATON_STATES_EXPLORED_MAX) {
      throw new AutomatonLimitError(`takes more than ${AUTOMATON_STATES_EXPLORED_MAX} states to work out`);
    }
    if (places.length * letters.length > AUTOMATON_CELLS_MAX) {
      throw new AutomatonLimitError(`takes too many states to work out, with ${letters.length} letters to tell apart`);
    }
  }
  return { letters, rows };
}
