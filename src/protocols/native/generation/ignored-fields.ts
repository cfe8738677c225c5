import { toIgnoredFieldNames } from '../../fields/ignored-field-names.ts';
import { listIgnoredSearchFields } from '../../fields/ignored-search-fields.ts';
import type { ChatFields } from '../../fields/parameter-schema.ts';
import type { AnswerFormat } from './answer-format.ts';
import { toNativePath } from './to-native-path.ts';
import type { GenerationWire } from './schema.ts';

/**
 * Lists known fields that request a feature without having an effect, by their path in the request.
 *
 * @param ignored Fields that generation did not apply, by their names in the chat interface.
 */
export function listIgnoredGenerationFields(
  { input, parameters }: GenerationWire,
  fields: ChatFields,
  format: AnswerFormat,
  ignored: readonly string[],
): readonly string[] {
  const nativeFields: readonly (readonly [string, boolean])[] = [
    ['input.history', Boolean(input?.history?.length) && Boolean(input?.messages)],
    ['parameters.result_format', FORMATS_WITH_CHOICES.has(format.type) && parameters?.result_format === 'text'],
    ['parameters.logprobs', parameters?.logprobs === true && !format.hasLogprobs],
  ];
  return [
    ...[
      ...toIgnoredFieldNames(fields, ignored),
      ...listIgnoredSearchFields(fields, { reportsSources: true, isStreamed: fields.stream === true }),
    ].map(toNativePath),
    ...nativeFields.filter(([, isIgnored]) => isIgnored).map(([name]) => name),
  ];
}

/** Formats that have choices regardless of `result_format`. */
const FORMATS_WITH_CHOICES: ReadonlySet<AnswerFormat['type']> = new Set(['parts', 'translation']);
