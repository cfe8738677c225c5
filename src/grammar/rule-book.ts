import { GRAMMAR_CHARACTERS_MAX, GRAMMAR_RULES_MAX } from '../core/limits.ts';
import type { Rule } from './automaton-rules.ts';
import { checkParses } from './check-parses.ts';
import { withoutDeadEnds } from './live-rules.ts';
import { printRules } from './print-rules.ts';
import type { RuleBody, RuleEntry, RuleRef } from './rule-body.ts';
import { RuleBookError } from './rule-book-error.ts';

/** Rules in the making. Equal ones are one rule, so that an engine's parses of equal text meet again. */
export interface RuleBook {
  add(body: RuleBody): RuleRef;
  /** A rule that is referred to before it is known. */
  reserve(): RuleRef;
  define(ref: RuleRef, body: RuleBody): void;
  /** A rule whose text was made elsewhere; the first of `rules` is the one that is meant. */
  addWritten(rules: readonly Rule[]): RuleRef;
  /** Unused so far. */
  freshName(): string;
  /**
   * All that is reached from `root`. No rule in `needed` may be one that can never be finished; elsewhere such alternatives
   * are left out.
   *
   * @throws RuleBookError when one is, or when an engine would have too much to follow.
   */
  print(root: RuleRef, needed: readonly RuleRef[]): string;
}

const NOTHING: RuleBody = { alternatives: [] };

export function createRuleBook(): RuleBook {
  const entries: RuleEntry[] = [];
  const known = new Map<string, RuleRef>();
  let characters = 0;
  let rules = 0;

  function push(body: RuleBody, written?: readonly Rule[]): RuleRef {
    rules += written?.length ?? 1;
    if (rules > GRAMMAR_RULES_MAX) throw new RuleBookError(`more than ${GRAMMAR_RULES_MAX} rules`);
    entries.push({ name: `r${entries.length}`, body, ...(written && { written }) });
    return { rule: entries.length - 1 };
  }

  function count(body: RuleBody): void {
    for (const alternative of body.alternatives) {
      for (const atom of alternative) characters += typeof atom === 'string' ? atom.length : 4;
    }
    if (characters > GRAMMAR_CHARACTERS_MAX) throw tooLong();
  }

  return {
    add(body) {
      const key = JSON.stringify(body);
      const same = known.get(key);
      if (same) return same;
      count(body);
      const ref = push(body);
      known.set(key, ref);
      return ref;
    },
    reserve: () => push(NOTHING),
    define(ref, body) {
      const entry = entries[ref.rule];
      if (entry) entry.body = body;
      count(body);
    },
    addWritten(written) {
      for (const { body } of written) characters += body.length;
      if (characters > GRAMMAR_CHARACTERS_MAX) throw tooLong();
      return push(NOTHING, written);
    },
    freshName: () => `s${entries.length}`,
    print(root, needed) {
      const bodies = withoutDeadEnds(entries);
      const impossible = [...needed, root].find(({ rule }) => !bodies[rule]);
      if (impossible) throw new RuleBookError('no text fits', impossible);
      checkParses(bodies);
      const text = printRules(root, entries, bodies);
      if (text.length > GRAMMAR_CHARACTERS_MAX) throw tooLong();
      return text;
    },
  };
}

const tooLong = (): RuleBookError => new RuleBookError(`more than ${GRAMMAR_CHARACTERS_MAX} characters of grammar`);
