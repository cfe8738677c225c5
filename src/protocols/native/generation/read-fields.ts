import type { ModelEntry } from '../../../catalogue/model.ts';
import { withDefaultThinking } from '../../fields/default-thinking.ts';
import { checkMessages } from '../../fields/message-rules.ts';
import { checkParameters, excludesThought } from '../../fields/parameter-rules.ts';
import type { ChatFields } from '../../fields/parameter-schema.ts';
import { conversation } from './conversation.ts';
import { formOf } from './form.ts';
import type { AnswerForm } from './form.ts';
import { place } from './place.ts';
import type { GenerationWire } from './schema.ts';

export interface Asked {
  readonly fields: ChatFields;
  readonly form: AnswerForm;
}

/**
 * A request in the words that the chat interfaces share, and the form of its answer, after every rule that no single field
 * can tell.
 *
 * @throws ServiceError `invalid-request` naming the field, with the texts of wire.md 1.7 where it has them.
 */
export function readFields(
  { input, parameters }: GenerationWire,
  entry: ModelEntry,
  way: { readonly isMultimodal: boolean; readonly isStreamed: boolean },
): Asked {
  const messages = conversation(input ?? {}, entry);
  checkMessages(messages, place);
  const written = parameters ?? {};
  const isCumulative = way.isStreamed && written.incremental_output === false;
  const isExcluded = isCumulative || written.result_format === 'text' || excludesThought({ ...written, messages });
  const meant = withDefaultThinking(written, entry, isExcluded);
  const fields = { ...meant, messages, stream: way.isStreamed };
  checkParameters(fields, entry, place);
  return { fields, form: formOf(meant, entry, way) };
}
