import { acceptsText, type Automaton } from './automaton.ts';
import type { Container, MemberName } from './container.ts';
import { type MemberBranch, createContainerWalk, type WalkPositions } from './container-walk.ts';
import { OPTIONAL_SPACE, formatLiteral } from './gbnf.ts';
import type { ValueConstraint } from './value-constraint.ts';
import type { RuleAlternative, RuleAtom, RuleBody, RuleRef } from './rule-body.ts';
import type { GrammarBuilder } from './grammar-builder.ts';

export interface ContainerRuleDeps {
  readonly builder: GrammarBuilder;
  getRule(constraint: ValueConstraint): RuleRef;
  createKeyRule(texts: Automaton): RuleRef;
  /** Returns groups of constraints, by index, that share values; undefined when no two do. */
  findOverlaps(context: readonly ValueConstraint[]): RuleBody['overlaps'];
  throwLimitError(problem: string): never;
}

/**
 * Position in the text: `first` after the opening bracket, `next` after a member, `member` where a member must follow.
 * A rule ends with the rule of what follows, so that an engine's parse does not grow with the number of members.
 */
type ContainerPhase = 'first' | 'next' | 'member';

/** Creates the rule for arrays or objects that match any of `containers`. */
export function createContainerRule(
  containers: readonly Container[],
  brackets: { readonly open: string; readonly close: string },
  { builder, getRule, createKeyRule, findOverlaps, throwLimitError }: ContainerRuleDeps,
): RuleAlternative {
  const walk = createContainerWalk(containers, throwLimitError);
  const ruleByKey = new Map<string, RuleRef | 'in progress'>();
  const reservedByKey = new Map<string, RuleRef>();

  function getRuleAt(phase: ContainerPhase, positions: WalkPositions): RuleRef {
    const key = `${phase} ${positions.key}`;
    const known = ruleByKey.get(key);
    if (known === 'in progress') {
      const reserved = reservedByKey.get(key) ?? builder.reserveRule();
      reservedByKey.set(key, reserved);
      return reserved;
    }
    if (known) return known;
    ruleByKey.set(key, 'in progress');
    const body = phase === 'member' ? createMemberBody(positions) : createEndOrMemberBody(phase, positions);
    const reserved = reservedByKey.get(key);
    if (reserved) builder.defineRule(reserved, body);
    const rule = reserved ?? builder.addRule(body);
    ruleByKey.set(key, rule);
    return rule;
  }

  function createEndOrMemberBody(phase: 'first' | 'next', positions: WalkPositions): RuleBody {
    const member: RuleAlternative = [
      ...(phase === 'next' ? [formatLiteral(','), OPTIONAL_SPACE] : []),
      getRuleAt('member', positions),
    ];
    return { alternatives: [member, ...(walk.canEnd(positions) ? [[formatLiteral(brackets.close)]] : [])] };
  }

  function createMemberBody(positions: WalkPositions): RuleBody {
    const { branches, skipTo } = walk.getStep(positions);
    const alternatives = branches.map(({ name, values }) => [...createNameAtoms(name), ...createValueAtoms(values)]);
    const overlaps = positions.all.length === 1 ? undefined : findNameOverlaps(branches.map(({ name }) => name));
    return {
      alternatives: skipTo ? [...alternatives, [getRuleAt('member', skipTo)]] : alternatives,
      ...(overlaps && { overlaps }),
    };
  }

  /** Creates atoms for a value and what may follow it; alternatives when that depends on the value. */
  function createValueAtoms(values: MemberBranch['values']): readonly RuleAtom[] {
    const alternatives = values.map(({ constraint, next }) => [getRule(constraint), getRuleAt('next', next)]);
    const [only] = alternatives;
    if (alternatives.length === 1 && only) return only;
    const overlaps = findOverlaps(values.map(({ constraint }) => constraint));
    return [builder.addRule({ alternatives, ...(overlaps && { overlaps }) })];
  }

  function createNameAtoms(name: MemberName): readonly RuleAtom[] {
    switch (name.type) {
      case 'item':
        return [];
      case 'key':
        return [formatLiteral(`${JSON.stringify(name.text)}:`), OPTIONAL_SPACE];
      case 'keys':
        return [formatLiteral('"'), createKeyRule(name.texts), formatLiteral('":'), OPTIONAL_SPACE];
    }
  }

  // Creates the rules of values first, then positions from the last: long objects do not cause deep recursion.
  for (const { constraints } of containers) constraints.forEach(getRule);
  for (const positions of [...walk.listReachable()].slice(1).toReversed()) getRuleAt('next', positions);
  return [formatLiteral(brackets.open), getRuleAt('first', walk.start)];
}

/** Finds overlapping names. Declared names are distinct; a set of names may contain them or overlap another set. */
function findNameOverlaps(names: readonly MemberName[]): RuleBody['overlaps'] {
  const sets = names.flatMap((name, at) => (name.type === 'keys' ? [{ at, texts: name.texts }] : []));
  if (sets.length === 0) return undefined;
  const withSets = names.map((name, at) => {
    if (name.type !== 'key') return [at];
    return [at, ...sets.filter(({ texts }) => acceptsText(texts, name.text)).map((set) => set.at)];
  });
  return [sets.map(({ at }) => at), ...withSets];
}
