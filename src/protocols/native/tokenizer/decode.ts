import type { ModelEntry } from '../../../catalogue/model.ts';
import type { TokenizeInput } from '../../../generation/tokenize.ts';
import { decodeChatFields } from '../../fields/decode-chat.ts';
import { createFieldError } from '../../parse.ts';
import { toNativePath } from '../generation/to-native-path.ts';
import { parseGenerationFields } from '../generation/parse-generation-fields.ts';
import type { TokenizerWire } from './schema.ts';

/**
 * Converts the input. A prompt alone is tokenized as plain text; messages are rendered as for a generation.
 * @throws ServiceError `invalid-request`, as for a generation with the same input.
 */
export function decodeTokenizerInput({ model, input }: TokenizerWire, entry: ModelEntry): TokenizeInput {
  if (!input?.messages && !input?.history) {
    // Vendor text (docs/wire/dashscope-native.md#errors).
    if (!input?.prompt)
      throw createFieldError('input', 'Either "prompt" or "messages" must exist and cannot both be none');
    return { type: 'text', text: input.prompt.toWellFormed() };
  }
  const { fields } = parseGenerationFields({ model, input }, entry, { isMultimodal: false, isStreamed: false });
  return { type: 'messages', messages: decodeChatFields(model, fields, toNativePath).messages };
}
