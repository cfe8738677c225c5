import { accepts } from './automaton.ts';
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
    return `${at} must have ${minLength} to ${maxLength} characters`;
  if (pattern !== undefined && !accepts(languages.pattern(pattern, path), value)) return `${at} must match its pattern`;
  const language = format === undefined ? undefined : languages.format(format);
  return language && !accepts(language, value) ? `${at} must be a ${format}` : undefined;
}

const codePoints = (text: string): number => {
  let count = 0;
  for (const _ of text) count++;
  return count;
};
