import { SCHEMA_DEPTH_MAX } from '../core/limits.ts';
import { type Automaton, AutomatonLimitError, union } from './automaton.ts';
import type { RuleOptions } from './automaton-rules.ts';
import { containerRule } from './container-rules.ts';
import { literal } from './gbnf.ts';
import type { Goal, Goals } from './goal.ts';
import type { Alternative, RuleRef } from './rule-body.ts';
import type { RuleBook } from './rule-book.ts';
import { type Shape, shapeOf } from './shape.ts';
import { textChoice } from './text-choice.ts';
import { createTextRules } from './text-rules.ts';
import { createValueOverlaps } from './value-overlaps.ts';
import type { Work } from './work.ts';

/** Rules for JSON text of values that are what a goal asks for. */
export function createGoalRules(book: RuleBook, goals: Goals): (goal: Goal) => RuleRef {
  const textRule = createTextRules(book);
  const { work } = goals.languages;
  const overlapsOf = createValueOverlaps(work);
  const known = new Map<Goal, RuleRef | 'under way'>();
  const forward = new Map<Goal, RuleRef>();
  const shapes = new Map<Goal, readonly Shape[]>();
  let depth = 0;

  function ruleOf(goal: Goal): RuleRef {
    const ref = known.get(goal);
    if (ref === 'under way') {
      const reserved = forward.get(goal) ?? book.reserve();
      forward.set(goal, reserved);
      return reserved;
    }
    if (ref) return ref;
    if (depth === SCHEMA_DEPTH_MAX) goals.refuse(goal.path, `The schema is more than ${SCHEMA_DEPTH_MAX} schemas deep`);
    depth++;
    known.set(goal, 'under way');
    const body = { alternatives: alternativesOf(goal) };
    const reserved = forward.get(goal);
    if (reserved) book.define(reserved, body);
    const made = reserved ?? book.add(body);
    known.set(goal, made);
    depth--;
    return made;
  }

  function shapesOf(goal: Goal): readonly Shape[] {
    const made = shapes.get(goal) ?? goal.ways.map((way) => shapeOf(way, goals));
    shapes.set(goal, made);
    return made;
  }

  function textsOf(automaton: Automaton, encode: RuleOptions['encode'], { path }: Goal): RuleRef {
    try {
      return textRule(automaton, encode);
    } catch (error) {
      if (error instanceof AutomatonLimitError) return goals.refuse(path, `What texts may be ${error.message}`);
      throw error;
    }
  }

  /** No two begin alike, but for single values that are strings or numbers too. */
  function alternativesOf(goal: Goal): readonly Alternative[] {
    const all = shapesOf(goal);
    const texts = [...new Set(all.flatMap((shape) => shape.texts))];
    const objects = all.flatMap(({ object }) => object ?? []);
    const arrays = all.flatMap(({ array }) => array ?? []);
    const needs = {
      book,
      ruleOf,
      keyTexts: (names: Automaton) => textsOf(names, 'json-string', goal),
      overlapsOf: (choices: readonly Goal[]) => overlapsOf(choices.map(shapesOf)),
      refuse: (problem: string) => goals.refuse(goal.path, problem),
    };
    return [
      ...textChoice(texts, book),
      ...united(
        all.flatMap(({ strings }) => strings ?? []),
        work,
      ).map((each) => [literal('"'), textsOf(each, 'json-string', goal), literal('"')]),
      ...united(
        all.flatMap(({ numbers }) => numbers ?? []),
        work,
      ).map((each) => [textsOf(each, 'text', goal)]),
      ...(objects.length > 0 ? [containerRule(objects, { open: '{', close: '}' }, needs)] : []),
      ...(arrays.length > 0 ? [containerRule(arrays, { open: '[', close: ']' }, needs)] : []),
    ];
  }

  return ruleOf;
}

/** Ours: automata that are made one; more stay alternatives. */
const UNITED_MAX = 16;

/** One automaton for several, where that does not become too large. */
function united(automata: readonly Automaton[], work: Work): readonly Automaton[] {
  const [first, ...others] = automata;
  if (!first || others.length === 0 || others.length >= UNITED_MAX) return automata;
  try {
    return [others.reduce((all, each) => union(all, each, work), first)];
  } catch (error) {
    if (error instanceof AutomatonLimitError) return automata;
    throw error;
  }
}
