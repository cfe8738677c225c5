import { AUTOMATON_STATES_MAX, GRAMMAR_LENGTH_MAX } from './limits.ts';
import {
  createAnyTextAutomaton,
  type Automaton,
  AutomatonLimitError,
  intersectAutomata,
  isEmpty,
  createLengthAutomaton,
} from './automaton.ts';
import type { CompileContext } from './value-constraint.ts';
import type { SchemaKeywords } from './keywords.ts';

/**
 * Returns the strings that satisfy all `parts`; undefined when there are none. A large maxLength is left to the check.
 */
export function createStringLanguage(parts: readonly SchemaKeywords[], context: CompileContext): Automaton | undefined {
  const path = parts[0]?.path ?? '#';
  const min = Math.max(0, ...parts.map((part) => part.minLength ?? 0));
  const maxLength = Math.min(Infinity, ...parts.map((part) => part.maxLength ?? Infinity));
  if (min > maxLength) return context.noteImpossible(path, `minLength ${min} is above maxLength ${maxLength}`);
  if (min > GRAMMAR_LENGTH_MAX) context.throwError(path, `minLength must be at most ${GRAMMAR_LENGTH_MAX}, got ${min}`);
  const isPlain = context.detail === 'plain-strings';
  const patterns = [...new Set(parts.flatMap((part) => part.pattern ?? []))];
  const formats = isPlain ? [] : [...new Set(parts.flatMap((part) => part.format ?? []))];
  const hasFormatBound = formats.some((each) => (FORMAT_LENGTHS_MAX.get(each) ?? Infinity) <= maxLength);
  const max = isPlain || hasFormatBound || maxLength > GRAMMAR_LENGTH_MAX ? undefined : maxLength;
  const { getLanguage, work } = context.languages;
  const widen = (make: () => Automaton): Automaton => {
    context.noteWide();
    return make();
  };
  const language = getLanguage(
    JSON.stringify(['string', patterns, formats, isPlain ? 0 : min, max]),
    { path, what: LANGUAGE_DESCRIPTION },
    () => {
      const intersectAll = (languages: readonly Automaton[]): Automaton =>
        languages.reduce((all, each) => intersectAutomata(all, each, work), createAnyTextAutomaton());
      const patternLanguages = patterns.map((each) => context.languages.getPatternLanguage(each, path));
      const formatLanguages = formats.flatMap((each) => context.languages.getFormatLanguage(each, path) ?? []);
      // The check covers a format that is too large together with a pattern.
      const whole =
        tryCreate(() => intersectAll([...patternLanguages, ...formatLanguages])) ??
        widen(() => intersectAll(patternLanguages));
      if (isPlain || (min === 0 && max === undefined)) return whole;
      return (
        (formats.length > 0 && max !== undefined && whole.states.length * (max + 1) > PRODUCT_STATES_MAX
          ? undefined
          : tryCreate(() => intersectAutomata(whole, createLengthAutomaton(min, max, work), work))) ??
        widen(() => intersectAutomata(whole, createLengthAutomaton(min, undefined, work), work))
      );
    },
  );
  return isEmpty(language) ? context.noteImpossible(path, 'pattern, format and length leave no string') : language;
}

/**
 * Product of a format's states and its lengths above which the combination hardly ever fits into an automaton: a failed
 * attempt would take the steps of the other strings.
 */
const PRODUCT_STATES_MAX = 2 * AUTOMATON_STATES_MAX;

/** Lengths in code points that the check of a format allows at most, so that a larger maxLength has no effect. */
const FORMAT_LENGTHS_MAX: ReadonlyMap<string, number> = new Map([
  ['email', 254],
  ['idn-email', 254],
  ['hostname', 253],
  ['idn-hostname', 253],
]);

const LANGUAGE_DESCRIPTION = 'The combination of pattern, format and length';

function tryCreate(make: () => Automaton): Automaton | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof AutomatonLimitError) return undefined;
    throw error;
  }
}
