import { GRAMMAR_LENGTH_MAX } from '../core/limits.ts';
import { anyText, type Automaton, AutomatonLimitError, intersect, isEmpty, ofLength } from './automaton.ts';
import type { Goals } from './goal.ts';
import type { Keywords } from './keywords.ts';

/** Strings that satisfy all of `parts`; undefined when there are none. A maximum that is too large is left to the check. */
export function stringLanguage(parts: readonly Keywords[], goals: Goals): Automaton | undefined {
  const path = parts[0]?.path ?? '#';
  const min = Math.max(0, ...parts.map((part) => part.minLength ?? 0));
  const maxLength = Math.min(Infinity, ...parts.map((part) => part.maxLength ?? Infinity));
  if (min > maxLength) return goals.note(path, `minLength ${min} is above maxLength ${maxLength}`);
  if (min > GRAMMAR_LENGTH_MAX) goals.refuse(path, `minLength must be at most ${GRAMMAR_LENGTH_MAX}, got ${min}`);
  const max = maxLength <= GRAMMAR_LENGTH_MAX ? maxLength : undefined;
  const patterns = [...new Set(parts.flatMap((part) => part.pattern ?? []))];
  const formats = [...new Set(parts.flatMap((part) => part.format ?? []))];
  const { make, work } = goals.languages;
  const language = make(JSON.stringify(['string', patterns, formats, min, max]), { path, what: STRINGS }, () => {
    const languages = [
      ...patterns.map((each) => goals.languages.pattern(each, path)),
      ...formats.flatMap((each) => goals.languages.format(each, path) ?? []),
    ];
    const whole = languages.length === 0 ? anyText() : languages.reduce((all, each) => intersect(all, each, work));
    if (min === 0 && max === undefined) return whole;
    return (
      attempt(() => intersect(whole, ofLength(min, max, work), work)) ??
      intersect(whole, ofLength(min, undefined, work), work)
    );
  });
  return isEmpty(language) ? goals.note(path, 'pattern, format and length leave no string') : language;
}

const STRINGS = 'What pattern, format and length describe together';

function attempt(make: () => Automaton): Automaton | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof AutomatonLimitError) return undefined;
    throw error;
  }
}
