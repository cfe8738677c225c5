import type { GenerationRequest } from '../../../core/request.ts';
import { present } from '../../../lib/present.ts';
import { decodeChat } from '../../fields/decode-chat.ts';
import { decodeServerTools } from '../../fields/decode-server-tools.ts';
import { atTop } from '../../fields/place.ts';
import type { ChatCompletionWire } from './schema.ts';

/** The wire's words in ours. The wire was checked by schema.ts and rules.ts. These answers never say what they rest on. */
export const decode = (wire: ChatCompletionWire): GenerationRequest => ({
  ...decodeChat(wire.model, wire, atTop),
  ...present({ serverTools: decodeServerTools(wire, { tellsSources: false }) }),
});
