import { type Automaton, intersectAutomata, isEmpty } from './automaton.ts';
import type { CompileContext } from './value-constraint.ts';
import type { SchemaKeywords } from './keywords.ts';
import type { NumberRange } from './number-range.ts';

/**
 * Returns the JSON notations of the numbers that satisfy all `parts`; undefined when there are none. A multipleOf that
 * an automaton cannot handle is left to the check.
 */
export function createNumberLanguage(
  parts: readonly SchemaKeywords[],
  isInteger: boolean,
  context: CompileContext,
): Automaton | undefined {
  const path = parts[0]?.path ?? '#';
  const range = {
    isInteger,
    minimum: findHighest(parts.flatMap((part) => part.minimum ?? [])),
    exclusiveMinimum: findHighest(parts.flatMap((part) => part.exclusiveMinimum ?? [])),
    maximum: findLowest(parts.flatMap((part) => part.maximum ?? [])),
    exclusiveMaximum: findLowest(parts.flatMap((part) => part.exclusiveMaximum ?? [])),
  };
  const steps = [...new Set(parts.flatMap((part) => part.multipleOf ?? []))];
  const { getLanguage, getNumberLanguage, work } = context.languages;
  const widen = (): readonly [] => {
    context.noteWide();
    return [];
  };
  const language = getLanguage(JSON.stringify(['number', range, steps]), { path, what: 'The range of numbers' }, () => {
    const multiples = steps.flatMap(
      (multipleOf) => tryCreate(() => getNumberLanguage({ ...range, multipleOf })) ?? widen(),
    );
    return multiples.length === 0
      ? getNumberLanguage(range)
      : multiples.reduce((all, each) => intersectAutomata(all, each, work));
  });
  return isEmpty(language) ? context.noteImpossible(path, `${describeRange(range)} leaves no number`) : language;
}

function tryCreate(make: () => Automaton): Automaton | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const describeRange = (range: NumberRange): string => {
  const bounds = Object.entries(range).flatMap(([name, value]) =>
    typeof value === 'number' ? `${name} ${value}` : [],
  );
  return bounds.length === 0 ? 'multipleOf' : bounds.join(' with ');
};

const findHighest = (bounds: readonly number[]): number | undefined =>
  bounds.length === 0 ? undefined : Math.max(...bounds);

const findLowest = (bounds: readonly number[]): number | undefined =>
  bounds.length === 0 ? undefined : Math.min(...bounds);
