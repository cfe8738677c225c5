import { countCodePoints } from '../lib/code-points.ts';
import { acceptsText } from './automaton.ts';
import { formatCountRange } from './format-count-range.ts';
import type { SchemaKeywords } from './keywords.ts';
import type { CheckContext } from './check-context.ts';

export function checkString(
  { path, minLength = 0, maxLength = Infinity, pattern, format }: SchemaKeywords,
  value: string,
  at: string,
  { languages, countSteps }: CheckContext,
): string | undefined {
  countSteps(value.length / 16);
  if (
    value.length < minLength ||
    (value.length > maxLength && countCodePoints(value) > maxLength) ||
    countCodePoints(value) < minLength
  )
    return `${at} must have ${formatCountRange(minLength, maxLength)} characters`;
  if (pattern !== undefined && !acceptsText(languages.getPatternLanguage(pattern, path), value))
    return `${at} must match its pattern`;
  const language = format === undefined ? undefined : languages.getFormatLanguage(format, path);
  return language && !acceptsText(language, value) ? `${at} must have the format ${format}` : undefined;
}
