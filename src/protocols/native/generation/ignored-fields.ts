import { ignoredNames } from '../../fields/ignored-names.ts';
import { ignoredWishes } from '../../fields/ignored-wishes.ts';
import type { ChatFields } from '../../fields/parameter-schema.ts';
import type { AnswerForm } from './form.ts';
import { place } from './place.ts';
import type { GenerationWire } from './schema.ts';

/**
 * Known fields that changed nothing although they ask for another answer, by their places in the request.
 *
 * @param unheard What generation did not hear, in its words.
 */
export function ignoredFields(
  { input, parameters }: GenerationWire,
  fields: ChatFields,
  form: AnswerForm,
  unheard: readonly string[],
): readonly string[] {
  const own: readonly (readonly [string, boolean])[] = [
    ['input.history', Boolean(input?.history?.length) && Boolean(input?.messages)],
    ['parameters.result_format', HAS_CHOICES.has(form.type) && parameters?.result_format === 'text'],
    ['parameters.logprobs', parameters?.logprobs === true && !form.hasLogprobs],
  ];
  return [
    ...[
      ...ignoredNames(fields, unheard),
      ...ignoredWishes(fields, { tellsSources: true, isStreamed: fields.stream === true }),
    ].map(place),
    ...own.filter(([, isIgnored]) => isIgnored).map(([name]) => name),
  ];
}

/** Forms that have choices whatever `result_format` says. */
const HAS_CHOICES: ReadonlySet<AnswerForm['type']> = new Set(['parts', 'translation']);
