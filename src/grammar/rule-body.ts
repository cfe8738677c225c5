import type { Rule } from './automaton-rules.ts';

/** A rule of the book. */
export interface RuleRef {
  readonly rule: number;
}

/** GBNF as it stands in a rule, or another rule. */
export type Atom = string | RuleRef;

export type Alternative = readonly Atom[];

export interface RuleBody {
  readonly alternatives: readonly Alternative[];
  /**
   * Alternatives, by index, that can go on together for longer than a key or a plain value. Absent: no two of them.
   * An engine follows all parses at once, so these add up.
   */
  readonly overlaps?: readonly (readonly number[])[];
}

export interface RuleEntry {
  readonly name: string;
  body: RuleBody;
  /** Set where the text was made elsewhere. */
  readonly written?: readonly Rule[];
}

/** Who refers to each rule. */
export function usersOf(bodies: readonly (RuleBody | undefined)[]): readonly ReadonlySet<number>[] {
  const users = bodies.map(() => new Set<number>());
  for (const [rule, body] of bodies.entries()) {
    for (const alternative of body?.alternatives ?? []) {
      for (const atom of alternative) if (typeof atom !== 'string') users[atom.rule]?.add(rule);
    }
  }
  return users;
}
