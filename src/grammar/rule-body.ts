import type { GbnfRule } from './automaton-rules.ts';

/** Reference to a rule of the builder, by number. */
export interface RuleRef {
  readonly rule: number;
}

/** GBNF text, or a reference to another rule. */
export type RuleAtom = string | RuleRef;

export type RuleAlternative = readonly RuleAtom[];

export interface RuleBody {
  readonly alternatives: readonly RuleAlternative[];
  /**
   * Groups of alternatives, by index, that can match the same text for longer than a key or a plain value. Absent:
   * none. An engine follows all parses at the same time, so that these add up.
   */
  readonly overlaps?: readonly (readonly number[])[];
}

export interface RuleEntry {
  readonly name: string;
  body: RuleBody;
  /** GBNF of the rule and its helper rules, when they are already formatted. */
  readonly gbnfRules?: readonly GbnfRule[];
}

/** Returns the rules that refer to each rule. */
export function findRuleUsers(bodies: readonly (RuleBody | undefined)[]): readonly ReadonlySet<number>[] {
  const usersByRule = bodies.map(() => new Set<number>());
  for (const [rule, body] of bodies.entries()) {
    for (const alternative of body?.alternatives ?? []) {
      for (const atom of alternative) if (typeof atom !== 'string') usersByRule[atom.rule]?.add(rule);
    }
  }
  return usersByRule;
}
