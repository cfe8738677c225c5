import type { ModelEntry } from '../../../catalogue/model.ts';
import type { TokenizeInput } from '../../../generation/tokenize.ts';
import { decodeChat } from '../../fields/decode-chat.ts';
import { refuse } from '../../parse.ts';
import { place } from '../generation/place.ts';
import { readFields } from '../generation/read-fields.ts';
import type { TokenizerWire } from './schema.ts';

/**
 * A prompt alone is a text of its own; messages are what a generation would make of them.
 * @throws ServiceError `invalid-request` as a generation of the same input.
 */
export function decodeTokenizerInput({ model, input }: TokenizerWire, entry: ModelEntry): TokenizeInput {
  if (!input?.messages && !input?.history) {
    // wire.md 1.7.
    if (!input?.prompt) throw refuse('input', 'Either "prompt" or "messages" must exist and cannot both be none');
    return { type: 'text', text: input.prompt.toWellFormed() };
  }
  const { fields } = readFields({ model, input }, entry, { isMultimodal: false, isStreamed: false });
  return { type: 'messages', messages: decodeChat(model, fields, place).messages };
}
