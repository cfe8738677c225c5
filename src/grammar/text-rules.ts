import type { Automaton } from './automaton.ts';
import { type AutomatonRuleOptions, automatonToRules } from './automaton-rules.ts';
import type { RuleRef } from './rule-body.ts';
import type { GrammarBuilder } from './grammar-builder.ts';

/** Creates the function that returns the rule of an automaton; equal automata share a rule. */
export function createTextRules(
  builder: GrammarBuilder,
): (automaton: Automaton, encode: AutomatonRuleOptions['encode']) => RuleRef {
  const keys = new Map<Automaton, string>();
  const ruleByKey = new Map<string, RuleRef>();
  return (automaton, encode) => {
    const key = keys.get(automaton) ?? JSON.stringify(automaton);
    keys.set(automaton, key);
    const ref =
      ruleByKey.get(encode + key) ??
      builder.addGbnfRules(automatonToRules(automaton, { name: builder.createRuleName(), encode }));
    ruleByKey.set(encode + key, ref);
    return ref;
  };
}
