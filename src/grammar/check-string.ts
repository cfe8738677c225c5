import { accepts } from './automaton.ts';
import { countRange } from './count-range.ts';
import type { Keywords } from './keywords.ts';
import type { Checking } from './validator.ts';

export function stringProblem(
  { path, minLength = 0, maxLength = Infinity, pattern, format }: Keywords,
  value: string,
  at: string,
  { languages, step }: Checking,
): string | undefined {
  step(value.length / 16);
  if (
    value.length < minLength ||
    (value.length > maxLength && codePoints(value) > maxLength) ||
    codePoints(value) < minLength
  )
    return `${at} must have ${countRange(minLength, maxLength)} characters`;
  if (pattern !== undefined && !accepts(languages.pattern(pattern, path), value)) return `${at} must match its pattern`;
  const language = format === undefined ? undefined : languages.format(format, path);
  return language && !accepts(language, value) ? `${at} must have the format ${format}` : undefined;
}

const codePoints = (text: string): number => {
  let count = 0;
  for (const _ of text) count++;
  return count;
};
