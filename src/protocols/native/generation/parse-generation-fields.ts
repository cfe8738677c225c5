import type { ModelEntry } from '../../../catalogue/model.ts';
import { applyDefaultThinking } from '../../fields/default-thinking.ts';
import { checkMessages } from '../../fields/message-rules.ts';
import { checkParameters, excludesThinking } from '../../fields/parameter-rules.ts';
import type { ChatFields } from '../../fields/parameter-schema.ts';
import { decodeConversation } from './decode-conversation.ts';
import { selectAnswerFormat, type AnswerFormat } from './answer-format.ts';
import { toNativePath } from './to-native-path.ts';
import type { GenerationWire } from './schema.ts';

export interface ParsedGenerationFields {
  readonly fields: ChatFields;
  readonly format: AnswerFormat;
}

/**
 * Converts a request to the fields shared by the chat interfaces and selects the answer's format, after checking the
 * rules that involve several fields.
 *
 * @throws ServiceError `invalid-request` naming the field, with the vendor's texts
 * (docs/wire/dashscope-native.md#errors).
 */
export function parseGenerationFields(
  { input, parameters }: GenerationWire,
  entry: ModelEntry,
  mode: { readonly isMultimodal: boolean; readonly isStreamed: boolean },
): ParsedGenerationFields {
  const messages = decodeConversation(input ?? {}, entry);
  checkMessages(messages, toNativePath);
  const sent = parameters ?? {};
  const isCumulative = mode.isStreamed && sent.incremental_output === false;
  const isExcluded = isCumulative || sent.result_format === 'text' || excludesThinking({ ...sent, messages });
  const effective = applyDefaultThinking(sent, entry, isExcluded);
  const fields = { ...effective, messages, stream: mode.isStreamed };
  checkParameters(fields, entry, toNativePath);
  return { fields, format: selectAnswerFormat(effective, entry, mode) };
}
