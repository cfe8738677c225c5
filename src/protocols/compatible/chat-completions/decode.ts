import type { GenerationRequest } from '../../../core/request.ts';
import { decodeChat } from '../../fields/decode-chat.ts';
import { atTop } from '../../fields/place.ts';
import type { ChatCompletionWire } from './schema.ts';

/** The wire's words in ours. The wire was checked by schema.ts and rules.ts. */
export const decode = (wire: ChatCompletionWire): GenerationRequest => decodeChat(wire.model, wire, atTop);
