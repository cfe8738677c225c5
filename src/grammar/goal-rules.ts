import { SCHEMA_DEPTH_MAX } from '../core/limits.ts';
import { accepts, type Automaton, AutomatonLimitError, intersect, isEmpty, union } from './automaton.ts';
import { containerRule } from './container-rules.ts';
import { literal } from './gbnf.ts';
import type { Goal, Goals } from './goal.ts';
import type { Alternative, RuleBody, RuleRef } from './rule-body.ts';
import type { RuleBook } from './rule-book.ts';
import { type Shape, shapeOf } from './shape.ts';
import { textChoice } from './text-choice.ts';
import { createTextRules } from './text-rules.ts';

/** Rules for JSON text of values that are what a goal asks for. */
export function createGoalRules(book: RuleBook, goals: Goals): (goal: Goal) => RuleRef {
  const textRule = createTextRules(book);
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

  /** No two begin alike, but for single values that are strings or numbers too. */
  function alternativesOf(goal: Goal): readonly Alternative[] {
    const all = shapesOf(goal);
    const texts = [...new Set(all.flatMap((shape) => shape.texts))];
    const objects = all.flatMap(({ object }) => object ?? []);
    const arrays = all.flatMap(({ array }) => array ?? []);
    const needs = {
      book,
      ruleOf,
      keyTexts: (names: Automaton) => textRule(names, 'json-string'),
      overlapsOf,
      refuse: (problem: string) => goals.refuse(goal.path, problem),
    };
    return [
      ...textChoice(texts, book),
      ...united(all.flatMap(({ strings }) => strings ?? [])).map((each) => [
        literal('"'),
        textRule(each, 'json-string'),
        literal('"'),
      ]),
      ...united(all.flatMap(({ numbers }) => numbers ?? [])).map((each) => [textRule(each, 'text')]),
      ...(objects.length > 0 ? [containerRule(objects, { open: '{', close: '}' }, needs)] : []),
      ...(arrays.length > 0 ? [containerRule(arrays, { open: '[', close: ']' }, needs)] : []),
    ];
  }

  function overlapsOf(choices: readonly Goal[]): RuleBody['overlaps'] {
    const all = choices.map((goal) => valuesOf(shapesOf(goal)));
    const groups = all.every(isFinite) ? groupsByText(all) : groupsByPairs(all);
    return groups.some((group) => group.length > 1) ? groups : undefined;
  }

  return ruleOf;
}

/** Ours: alternatives up to which each is compared with each; more count as if all had values in common. */
const COMPARED_MAX = 32;

/** One automaton for several, where that does not become too large. */
function united(automata: readonly Automaton[]): readonly Automaton[] {
  const [first, ...others] = automata;
  if (!first || others.length === 0) return automata;
  try {
    return [others.reduce((all, each) => union(all, each), first)];
  } catch (error) {
    if (error instanceof AutomatonLimitError) return automata;
    throw error;
  }
}

interface Values {
  readonly texts: ReadonlySet<string>;
  readonly strings: readonly Automaton[];
  readonly numbers: readonly Automaton[];
  readonly hasArrays: boolean;
  readonly hasObjects: boolean;
}

const valuesOf = (shapes: readonly Shape[]): Values => ({
  texts: new Set(shapes.flatMap(({ texts }) => texts)),
  strings: shapes.flatMap(({ strings }) => strings ?? []),
  numbers: shapes.flatMap(({ numbers }) => numbers ?? []),
  hasArrays: shapes.some(({ array, texts }) => array !== undefined || texts.some((text) => text.startsWith('['))),
  hasObjects: shapes.some(({ object, texts }) => object !== undefined || texts.some((text) => text.startsWith('{'))),
});

const isFinite = ({ strings, numbers, hasArrays, hasObjects }: Values): boolean =>
  strings.length + numbers.length === 0 && !hasArrays && !hasObjects;

function groupsByText(all: readonly Values[]): readonly (readonly number[])[] {
  const byText = new Map<string, number[]>();
  for (const [at, { texts }] of all.entries()) {
    for (const text of texts) {
      const group = byText.get(text);
      if (group) group.push(at);
      else byText.set(text, [at]);
    }
  }
  return [...byText.values()];
}

function groupsByPairs(all: readonly Values[]): readonly (readonly number[])[] {
  if (all.length > COMPARED_MAX) return [all.map((_, at) => at)];
  return all.map((one) => all.flatMap((other, at) => (one === other || haveCommon(one, other) ? [at] : [])));
}

function haveCommon(one: Values, other: Values): boolean {
  if ((one.hasArrays && other.hasArrays) || (one.hasObjects && other.hasObjects)) return true;
  if (!one.texts.isDisjointFrom(other.texts)) return true;
  const holds = ({ strings, numbers }: Values, { texts }: Values): boolean =>
    [...texts].some((text) =>
      text.startsWith('"')
        ? strings.some((each) => accepts(each, String(JSON.parse(text))))
        : numbers.some((each) => accepts(each, text)),
    );
  if (holds(one, other) || holds(other, one)) return true;
  const meet = (a: readonly Automaton[], b: readonly Automaton[]): boolean =>
    a.some((each) => b.some((another) => canMeet(each, another)));
  return meet(one.strings, other.strings) || meet(one.numbers, other.numbers);
}

function canMeet(one: Automaton, other: Automaton): boolean {
  try {
    return !isEmpty(intersect(one, other));
  } catch (error) {
    if (error instanceof AutomatonLimitError) return true;
    throw error;
  }
}
