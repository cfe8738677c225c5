import type { Automaton } from './automaton.ts';
import type { ValueConstraint } from './value-constraint.ts';

/** An array or object as a sequence of members. */
export interface Container {
  readonly start: ContainerPosition;
  /** Constraints of all possible members. */
  readonly constraints: readonly ValueConstraint[];
  /** Tells whether the container may end at this position. */
  canEnd(position: ContainerPosition): boolean;
  getNextMembers(position: ContainerPosition): NextMembers;
}

/** The next declared property or item, and the number of members so far where it is counted. */
export interface ContainerPosition {
  readonly slot: number;
  readonly count: number;
}

export interface NextMembers {
  readonly members: readonly ContainerMember[];
  /** Position of further members: the next property, when this one is optional. */
  readonly skipTo?: ContainerPosition;
}

/** A possible member and the position after it. */
export interface ContainerMember {
  readonly name: MemberName;
  readonly constraint: ValueConstraint;
  readonly next: ContainerPosition;
}

/** The text that precedes a member's value. Equal names have equal labels. */
export type MemberName =
  | { readonly type: 'item'; readonly label: 'item' }
  | { readonly type: 'key'; readonly label: string; readonly text: string }
  | { readonly type: 'keys'; readonly label: string; readonly texts: Automaton };

export const NO_MEMBERS: NextMembers = { members: [] };
