import { GRAMMAR_LENGTH_MAX } from './limits.ts';
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
  const max = maxLength <= GRAMMAR_LENGTH_MAX ? maxLength : undefined;
  const patterns = [...new Set(parts.flatMap((part) => part.pattern ?? []))];
  const formats = [...new Set(parts.flatMap((part) => part.format ?? []))];
  const { getLanguage, work } = context.languages;
  const widen = (make: () => Automaton): Automaton => {
    context.noteWide();
    return make();
  };
  const language = getLanguage(
    JSON.stringify(['string', patterns, formats, min, max]),
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
      if (min === 0 && max === undefined) return whole;
      return (
        tryCreate(() => intersectAutomata(whole, createLengthAutomaton(min, max, work), work)) ??
        widen(() => intersectAutomata(whole, createLengthAutomaton(min, undefined, work), work))
      );
    },
  );
  return isEmpty(language) ? context.noteImpossible(path, 'pattern, format and length leave no string') : language;
}

const LANGUAGE_DESCRIPTION = 'The combination of pattern, format and length';

function tryCreate(make: () => Automaton): Automaton | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof AutomatonLimitError) return undefined;
    throw error;
  }
}
