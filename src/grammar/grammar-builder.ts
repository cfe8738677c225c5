import { GRAMMAR_CHARS_MAX, GRAMMAR_RULES_MAX } from './limits.ts';
import type { GbnfRule } from './automaton-rules.ts';
import { checkParseCount } from './check-parse-count.ts';
import { printRules } from './print-rules.ts';
import { findRuleUsers, type RuleBody, type RuleEntry, type RuleRef, type RuleAlternative } from './rule-body.ts';
import { GrammarBuilderError } from './grammar-builder-error.ts';

/** Collects the rules of a grammar. Equal rules are shared, so that an engine's parses of equal text merge again. */
export interface GrammarBuilder {
  addRule(body: RuleBody): RuleRef;
  /** Reserves a rule that is referred to before its body is known. */
  reserveRule(): RuleRef;
  defineRule(ref: RuleRef, body: RuleBody): void;
  /** Adds formatted rules. The returned reference is to the first. */
  addGbnfRules(rules: readonly GbnfRule[]): RuleRef;
  /** Returns a rule name that is not used yet. */
  createRuleName(): string;
  /**
   * Formats all rules that are reachable from `root`. Alternatives that can never be completed are left out.
   *
   * @throws GrammarBuilderError when `root` or a rule of `needed` matches no text, or when a limit is exceeded.
   */
  print(root: RuleRef, needed: readonly RuleRef[]): string;
}

const EMPTY_BODY: RuleBody = { alternatives: [] };

export function createGrammarBuilder(): GrammarBuilder {
  const entries: RuleEntry[] = [];
  const refByBody = new Map<string, RuleRef>();
  let characters = 0;
  let rules = 0;

  function pushEntry(body: RuleBody, gbnfRules?: readonly GbnfRule[]): RuleRef {
    rules += gbnfRules?.length ?? 1;
    if (rules > GRAMMAR_RULES_MAX) throw new GrammarBuilderError(`more than ${GRAMMAR_RULES_MAX} rules`);
    entries.push({ name: `r${entries.length}`, body, ...(gbnfRules && { gbnfRules: gbnfRules }) });
    return { rule: entries.length - 1 };
  }

  function countCharacters(body: RuleBody): void {
    for (const alternative of body.alternatives) {
      for (const atom of alternative) characters += typeof atom === 'string' ? atom.length : 4;
    }
    if (characters > GRAMMAR_CHARS_MAX) throw createLengthError();
  }

  return {
    addRule(body) {
      const key = JSON.stringify(body);
      const existing = refByBody.get(key);
      if (existing) return existing;
      countCharacters(body);
      const ref = pushEntry(body);
      refByBody.set(key, ref);
      return ref;
    },
    reserveRule: () => pushEntry(EMPTY_BODY),
    defineRule(ref, body) {
      const entry = entries[ref.rule];
      if (entry) entry.body = body;
      countCharacters(body);
    },
    addGbnfRules(gbnfRules) {
      for (const { body } of gbnfRules) characters += body.length;
      if (characters > GRAMMAR_CHARS_MAX) throw createLengthError();
      return pushEntry(EMPTY_BODY, gbnfRules);
    },
    createRuleName: () => `s${entries.length}`,
    print(root, needed) {
      const bodies = removeDeadEnds(entries);
      const impossible = [...needed, root].find(({ rule }) => !bodies[rule]);
      if (impossible) throw new GrammarBuilderError('no text fits', impossible);
      checkParseCount(bodies);
      const text = printRules(root, entries, bodies);
      if (text.length > GRAMMAR_CHARS_MAX) throw createLengthError();
      return text;
    },
  };
}

const createLengthError = (): GrammarBuilderError =>
  new GrammarBuilderError(`more than ${GRAMMAR_CHARS_MAX} characters of grammar`);

/** Removes alternatives that can never be completed. Returns undefined for a rule that has no other alternatives. */
function removeDeadEnds(entries: readonly RuleEntry[]): (RuleBody | undefined)[] {
  const usersByRule = findRuleUsers(entries.map(({ body }) => body));
  const isLive = entries.map(({ gbnfRules }) => gbnfRules !== undefined);
  const canFinish = (alternative: RuleAlternative): boolean =>
    alternative.every((atom) => typeof atom === 'string' || isLive[atom.rule] === true);
  const queue = entries.map((_, rule) => rule);
  for (let rule = queue.pop(); rule !== undefined; rule = queue.pop()) {
    const isFinished = isLive[rule] === true && entries[rule]?.gbnfRules === undefined;
    if (isFinished || (!isLive[rule] && !entries[rule]?.body.alternatives.some(canFinish))) continue;
    isLive[rule] = true;
    for (const user of usersByRule[rule] ?? []) if (!isLive[user]) queue.push(user);
  }
  return entries.map(({ body }, rule) => {
    if (!isLive[rule]) return undefined;
    const kept = body.alternatives
      .map((alternative, at) => ({ alternative, at }))
      .filter((each) => canFinish(each.alternative));
    const newIndexes = new Map(kept.map(({ at }, newIndex) => [at, newIndex]));
    const overlaps = body.overlaps?.map((group) => group.flatMap((at) => newIndexes.get(at) ?? []));
    return { alternatives: kept.map(({ alternative }) => alternative), ...(overlaps && { overlaps }) };
  });
}
