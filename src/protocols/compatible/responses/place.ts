import type { Place } from '../../fields/place.ts';

const PLACES: readonly (readonly [RegExp, string])[] = [
  [/^tools\[(\d*)\]\.function\b/, 'tools[$1]'],
  [/^tool_choice\.function\b/, 'tool_choice'],
  [/^response_format\.json_schema\b/, 'text.format'],
  [/^response_format\b/, 'text.format'],
  [/^max_completion_tokens\b/, 'max_output_tokens'],
  [/^reasoning_effort\b/, 'reasoning.effort'],
  [/^logprobs\b/, 'include'],
  [/^messages(?:\[\d*\].*)?$/, 'input'],
];

/** Where a field of the shared ones stands in this interface. */
export const placeIn: Place = (field) => {
  const place = PLACES.find(([pattern]) => pattern.test(field));
  return place ? field.replace(...place) : field;
};
