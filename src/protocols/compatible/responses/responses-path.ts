import type { FieldPathMapper } from '../../fields/field-path-mapper.ts';

const PATH_RULES: readonly (readonly [RegExp, string])[] = [
  [/^tools\[(\d*)\]\.function\b/, 'tools[$1]'],
  [/^tool_choice\.function\b/, 'tool_choice'],
  [/^response_format\.json_schema\b/, 'text.format'],
  [/^response_format\b/, 'text.format'],
  [/^max_completion_tokens\b/, 'max_output_tokens'],
  [/^reasoning_effort\b/, 'reasoning.effort'],
  [/^logprobs$/, 'include'],
  [/^messages(?:\[\d*\].*)?$/, 'input'],
];

/** Maps the name of a shared chat field to its path in this interface. */
export const toResponsesPath: FieldPathMapper = (field) => {
  const rule = PATH_RULES.find(([pattern]) => pattern.test(field));
  return rule ? field.replace(...rule) : field;
};
