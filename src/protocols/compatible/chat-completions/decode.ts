import type { GenerationRequest } from '../../../core/request.ts';
import { omitNullish } from '../../../lib/omit-nullish.ts';
import { decodeChatFields } from '../../fields/decode-chat.ts';
import { decodeServerTools } from '../../fields/decode-server-tools.ts';
import { topLevelPath } from '../../fields/field-path-mapper.ts';
import type { ChatCompletionWire } from './schema.ts';

/** Converts a request that schema.ts and rules.ts have checked. Responses of this interface never report sources. */
export const decodeChatCompletion = (wire: ChatCompletionWire): GenerationRequest => ({
  ...decodeChatFields(wire.model, wire, topLevelPath),
  ...omitNullish({ serverTools: decodeServerTools(wire, { reportsSources: false }) }),
});
