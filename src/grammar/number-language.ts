import { type Automaton, intersect, isEmpty } from './automaton.ts';
import type { Goals } from './goal.ts';
import type { Keywords } from './keywords.ts';
import type { NumberRange } from './number-range.ts';

/**
 * Spellings of the numbers that satisfy all of `parts`; undefined when there are none. A multipleOf that is too much for
 * an automaton is left to the check.
 */
export function numberLanguage(parts: readonly Keywords[], isInteger: boolean, goals: Goals): Automaton | undefined {
  const path = parts[0]?.path ?? '#';
  const range = {
    isInteger,
    minimum: highest(parts.flatMap((part) => part.minimum ?? [])),
    exclusiveMinimum: highest(parts.flatMap((part) => part.exclusiveMinimum ?? [])),
    maximum: lowest(parts.flatMap((part) => part.maximum ?? [])),
    exclusiveMaximum: lowest(parts.flatMap((part) => part.exclusiveMaximum ?? [])),
  };
  const steps = [...new Set(parts.flatMap((part) => part.multipleOf ?? []))];
  const { make, numbers, work } = goals.languages;
  const language = make(JSON.stringify(['number', range, steps]), { path, what: 'The range of numbers' }, () => {
    const multiples = steps.flatMap((multipleOf) => attempt(() => numbers({ ...range, multipleOf })) ?? []);
    return multiples.length === 0 ? numbers(range) : multiples.reduce((all, each) => intersect(all, each, work));
  });
  return isEmpty(language) ? goals.note(path, `${described(range)} leaves no number`) : language;
}

function attempt(make: () => Automaton): Automaton | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const described = (range: NumberRange): string => {
  const bounds = Object.entries(range).flatMap(([name, value]) =>
    typeof value === 'number' ? `${name} ${value}` : [],
  );
  return bounds.length === 0 ? 'multipleOf' : bounds.join(' with ');
};

const highest = (bounds: readonly number[]): number | undefined =>
  bounds.length === 0 ? undefined : Math.max(...bounds);

const lowest = (bounds: readonly number[]): number | undefined =>
  bounds.length === 0 ? undefined : Math.min(...bounds);
