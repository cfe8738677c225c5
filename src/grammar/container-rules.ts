import { accepts, type Automaton } from './automaton.ts';
import type { Container, MemberName } from './container.ts';
import { type Branch, createContainerWalk, type Positions } from './container-walk.ts';
import { BLANK, literal } from './gbnf.ts';
import type { Goal } from './goal.ts';
import type { Alternative, Atom, RuleBody, RuleRef } from './rule-body.ts';
import type { RuleBook } from './rule-book.ts';

export interface ContainerNeeds {
  readonly book: RuleBook;
  ruleOf(goal: Goal): RuleRef;
  keyTexts(texts: Automaton): RuleRef;
  /** Which goals, by index, share values; absent when no two do. */
  overlapsOf(goals: readonly Goal[]): RuleBody['overlaps'];
  refuse(problem: string): never;
}

/**
 * `first`: after the opening bracket; `next`: after a member; `member`: where a member must stand. A rule ends with the
 * one for what follows, so that an engine's parse does not grow with the number of members.
 */
type Mode = 'first' | 'next' | 'member';

/** Arrays, or objects, that are any of `containers`. */
export function containerRule(
  containers: readonly Container[],
  brackets: { readonly open: string; readonly close: string },
  { book, ruleOf, keyTexts, overlapsOf, refuse }: ContainerNeeds,
): Alternative {
  const walk = createContainerWalk(containers, refuse);
  const known = new Map<string, RuleRef | 'under way'>();
  const forward = new Map<string, RuleRef>();

  function ruleAt(mode: Mode, positions: Positions): RuleRef {
    const key = `${mode} ${positions.key}`;
    const ref = known.get(key);
    if (ref === 'under way') {
      const reserved = forward.get(key) ?? book.reserve();
      forward.set(key, reserved);
      return reserved;
    }
    if (ref) return ref;
    known.set(key, 'under way');
    const body = mode === 'member' ? memberBody(positions) : endOrMember(mode, positions);
    const reserved = forward.get(key);
    if (reserved) book.define(reserved, body);
    const made = reserved ?? book.add(body);
    known.set(key, made);
    return made;
  }

  function endOrMember(mode: 'first' | 'next', positions: Positions): RuleBody {
    const member: Alternative = [...(mode === 'next' ? [literal(','), BLANK] : []), ruleAt('member', positions)];
    return { alternatives: [member, ...(walk.canEnd(positions) ? [[literal(brackets.close)]] : [])] };
  }

  function memberBody(positions: Positions): RuleBody {
    const { branches, onward } = walk.from(positions);
    const alternatives = branches.map(({ name, values }) => [...atomsOf(name), ...valueAndRest(values)]);
    const overlaps = positions.all.length === 1 ? undefined : nameOverlaps(branches.map(({ name }) => name));
    return {
      alternatives: onward ? [...alternatives, [ruleAt('member', onward)]] : alternatives,
      ...(overlaps && { overlaps }),
    };
  }

  /** A value, and what may follow it; alternatives where that depends on the value. */
  function valueAndRest(values: Branch['values']): readonly Atom[] {
    const alternatives = values.map(({ goal, next }) => [ruleOf(goal), ruleAt('next', next)]);
    const [only] = alternatives;
    if (alternatives.length === 1 && only) return only;
    const overlaps = overlapsOf(values.map(({ goal }) => goal));
    return [book.add({ alternatives, ...(overlaps && { overlaps }) })];
  }

  function atomsOf(name: MemberName): readonly Atom[] {
    switch (name.type) {
      case 'item':
        return [];
      case 'key':
        return [literal(`${JSON.stringify(name.text)}:`), BLANK];
      case 'keys':
        return [literal('"'), keyTexts(name.texts), literal('":'), BLANK];
    }
  }

  // Values first, and then places from the end: neither long objects nor values in them go far down the stack.
  for (const { goals } of containers) goals.forEach(ruleOf);
  for (const positions of [...walk.reachable()].slice(1).toReversed()) ruleAt('next', positions);
  return [literal(brackets.open), ruleAt('first', walk.start)];
}

/** Declared names are told apart by themselves; a set of names may hold them, or share names with another set. */
function nameOverlaps(names: readonly MemberName[]): RuleBody['overlaps'] {
  const sets = names.flatMap((name, at) => (name.type === 'keys' ? [{ at, texts: name.texts }] : []));
  if (sets.length === 0) return undefined;
  const withSets = names.map((name, at) => {
    if (name.type !== 'key') return [at];
    return [at, ...sets.filter(({ texts }) => accepts(texts, name.text)).map((set) => set.at)];
  });
  return [sets.map(({ at }) => at), ...withSets];
}
