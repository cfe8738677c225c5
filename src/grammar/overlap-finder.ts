import { acceptsText, type Automaton, AutomatonLimitError, intersectAutomata, isEmpty } from './automaton.ts';
import type { RuleBody } from './rule-body.ts';
import type { ValueShape } from './value-shape.ts';
import type { WorkBudget } from './work-budget.ts';

/** Maximum number of alternatives that are compared in pairs; more count as if all shared values. */
const ALTERNATIVES_COMPARED_MAX = 32;

/** Maximum number of automata intersections per schema; beyond, automata count as if they shared texts. */
const INTERSECTIONS_MAX = 64;

/** Creates the function that groups sets of values, by index, that share values; undefined when no two do. */
export function createOverlapFinder(
  work: WorkBudget,
): (choices: readonly (readonly ValueShape[])[]) => RuleBody['overlaps'] {
  let intersections = 0;

  function canOverlap(one: Automaton, other: Automaton): boolean {
    if (++intersections > INTERSECTIONS_MAX) return true;
    try {
      return !isEmpty(intersectAutomata(one, other, work));
    } catch (error) {
      if (error instanceof AutomatonLimitError) return true;
      throw error;
    }
  }

  function haveCommonValues(one: ValueSets, other: ValueSets): boolean {
    if ((one.hasArrays && other.hasArrays) || (one.hasObjects && other.hasObjects)) return true;
    if (!one.texts.isDisjointFrom(other.texts) || acceptsTextFrom(one, other) || acceptsTextFrom(other, one))
      return true;
    const meet = (a: readonly Automaton[], b: readonly Automaton[]): boolean =>
      a.some((each) => b.some((another) => canOverlap(each, another)));
    return meet(one.strings, other.strings) || meet(one.numbers, other.numbers);
  }

  function groupsByPairs(all: readonly ValueSets[]): readonly (readonly number[])[] {
    if (all.length > ALTERNATIVES_COMPARED_MAX) return [all.map((_, at) => at)];
    return all.map((one) => all.flatMap((other, at) => (one === other || haveCommonValues(one, other) ? [at] : [])));
  }

  return (choices) => {
    const all = choices.map(collectValueSets);
    const groups = all.every(isEnumerated) ? groupsByText(all) : groupsByPairs(all);
    return groups.some((group) => group.length > 1) ? groups : undefined;
  };
}

interface ValueSets {
  readonly texts: ReadonlySet<string>;
  readonly strings: readonly Automaton[];
  readonly numbers: readonly Automaton[];
  readonly hasArrays: boolean;
  readonly hasObjects: boolean;
}

const collectValueSets = (shapes: readonly ValueShape[]): ValueSets => ({
  texts: new Set(shapes.flatMap(({ texts }) => texts)),
  strings: shapes.flatMap(({ strings }) => strings ?? []),
  numbers: shapes.flatMap(({ numbers }) => numbers ?? []),
  hasArrays: shapes.some(({ array, texts }) => array !== undefined || texts.some((text) => text.startsWith('['))),
  hasObjects: shapes.some(({ object, texts }) => object !== undefined || texts.some((text) => text.startsWith('{'))),
});

const isEnumerated = ({ strings, numbers, hasArrays, hasObjects }: ValueSets): boolean =>
  strings.length + numbers.length === 0 && !hasArrays && !hasObjects;

function groupsByText(all: readonly ValueSets[]): readonly (readonly number[])[] {
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

/** Tells whether automata of the first accept texts of the second. */
const acceptsTextFrom = ({ strings, numbers }: ValueSets, { texts }: ValueSets): boolean =>
  [...texts].some((text) =>
    text.startsWith('"')
      ? strings.some((each) => acceptsText(each, String(JSON.parse(text))))
      : numbers.some((each) => acceptsText(each, text)),
  );
