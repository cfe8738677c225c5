import type { Automaton } from './automaton.ts';
import { type RuleOptions, toRules } from './automaton-rules.ts';
import type { RuleRef } from './rule-body.ts';
import type { RuleBook } from './rule-book.ts';

/** Rules for automata; equal automata have one rule. */
export function createTextRules(book: RuleBook): (automaton: Automaton, encode: RuleOptions['encode']) => RuleRef {
  const keys = new Map<Automaton, string>();
  const known = new Map<string, RuleRef>();
  return (automaton, encode) => {
    const key = keys.get(automaton) ?? JSON.stringify(automaton);
    keys.set(automaton, key);
    const ref = known.get(encode + key) ?? book.addWritten(toRules(automaton, { name: book.freshName(), encode }));
    known.set(encode + key, ref);
    return ref;
  };
}
