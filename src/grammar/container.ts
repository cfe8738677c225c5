import type { Automaton } from './automaton.ts';
import type { Goal } from './goal.ts';

/** An array or object as steps from member to member. */
export interface Container {
  readonly start: Place;
  /** Of all members that there can be. */
  readonly goals: readonly Goal[];
  /** Whether the container may end here. */
  canEnd(place: Place): boolean;
  at(place: Place): Choices;
}

/** The next declared property or item, and how many members have been, where that is counted. */
export interface Place {
  readonly slot: number;
  readonly count: number;
}

export interface Choices {
  readonly members: readonly Member[];
  /** Where to look for further choices: the next property, when this one may be left out. */
  readonly onward?: Place;
}

/** A member that may stand here, and the place after it. */
export interface Member {
  readonly name: MemberName;
  readonly goal: Goal;
  readonly next: Place;
}

/** What stands before a member's value. Equal names have equal labels. */
export type MemberName =
  | { readonly type: 'item'; readonly label: 'item' }
  | { readonly type: 'key'; readonly label: string; readonly text: string }
  | { readonly type: 'keys'; readonly label: string; readonly texts: Automaton };

export const NO_MEMBERS: Choices = { members: [] };
