import { accepts, type Automaton, AutomatonLimitError, intersect, isEmpty } from './automaton.ts';
import type { RuleBody } from './rule-body.ts';
import type { Shape } from './shape.ts';
import type { Work } from './work.ts';

/** Ours: alternatives up to which each is compared with each; more count as if all had values in common. */
const COMPARED_MAX = 32;

/** Ours: automata compared in one schema; beyond, they count as if they had texts in common. */
const INTERSECTIONS_MAX = 64;

/** Finds which of several sets of values, by index, have values in common; absent when no two have. */
export function createValueOverlaps(work: Work): (choices: readonly (readonly Shape[])[]) => RuleBody['overlaps'] {
  let intersections = 0;

  function canMeet(one: Automaton, other: Automaton): boolean {
    if (++intersections > INTERSECTIONS_MAX) return true;
    try {
      return !isEmpty(intersect(one, other, work));
    } catch (error) {
      if (error instanceof AutomatonLimitError) return true;
      throw error;
    }
  }

  function haveCommon(one: Values, other: Values): boolean {
    if ((one.hasArrays && other.hasArrays) || (one.hasObjects && other.hasObjects)) return true;
    if (!one.texts.isDisjointFrom(other.texts) || holds(one, other) || holds(other, one)) return true;
    const meet = (a: readonly Automaton[], b: readonly Automaton[]): boolean =>
      a.some((each) => b.some((another) => canMeet(each, another)));
    return meet(one.strings, other.strings) || meet(one.numbers, other.numbers);
  }

  function groupsByPairs(all: readonly Values[]): readonly (readonly number[])[] {
    if (all.length > COMPARED_MAX) return [all.map((_, at) => at)];
    return all.map((one) => all.flatMap((other, at) => (one === other || haveCommon(one, other) ? [at] : [])));
  }

  return (choices) => {
    const all = choices.map(valuesOf);
    const groups = all.every(isListed) ? groupsByText(all) : groupsByPairs(all);
    return groups.some((group) => group.length > 1) ? groups : undefined;
  };
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

const isListed = ({ strings, numbers, hasArrays, hasObjects }: Values): boolean =>
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

/** Whether automata of the first accept texts of the second. */
const holds = ({ strings, numbers }: Values, { texts }: Values): boolean =>
  [...texts].some((text) =>
    text.startsWith('"')
      ? strings.some((each) => accepts(each, String(JSON.parse(text))))
      : numbers.some((each) => accepts(each, text)),
  );
