import { ServiceError } from '../../../core/error.ts';
import type { Message, ContentPart } from '../../../core/message.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import type { ShortenableRequest } from '../../../generation/fit-history.ts';
import { omitNullish } from '../../../lib/omit-nullish.ts';
import { decodeChatFields } from '../../fields/decode-chat.ts';
import { decodeItems, decodeSystemParts, expandFileReferences } from '../items/decode-items.ts';
import { groupHistoryTurns } from '../items/history-turns.ts';
import type { WireItem } from '../items/item-schema.ts';
import { toChatFields } from './chat-fields.ts';
import type { ResponseWire } from './schema.ts';
import { decodeResponseServerTools } from './server-tools.ts';

/** Items of earlier turns and of this request. */
export interface TurnItems {
  readonly history: readonly WireItem[];
  readonly input: readonly WireItem[];
}

export interface DecodedTurn extends ShortenableRequest {
  /** Returns how many history items are dropped with the given number of turns. */
  readonly countDroppedItems: (dropped: number) => number;
}

/**
 * Converts a request that schema.ts and rules.ts have checked.
 * @param extraFields Unknown fields, for an upstream server.
 */
export function decodeResponseTurn(
  wire: ResponseWire,
  { history, input }: TurnItems,
  extraFields?: GenerationRequest['extraFields'],
): DecodedTurn {
  const { fields, toPath } = toChatFields(wire);
  const turns = groupHistoryTurns(history, input);
  const serverTools = decodeResponseServerTools(wire);
  const request = { ...decodeChatFields(wire.model, fields, toPath), ...omitNullish({ serverTools, extraFields }) };
  return {
    droppableTurns: turns.count,
    withoutOldestTurns: (dropped) => ({
      ...request,
      messages: buildMessages(wire, [...turns.withoutOldest(dropped), ...input]),
    }),
    countDroppedItems: (dropped) => history.length - turns.withoutOldest(dropped).length,
  };
}

/**
 * Puts instructions, system and developer messages first and into one message: chat templates allow only one system
 * message at the start, and give it priority over all others.
 */
function buildMessages({ instructions }: ResponseWire, items: readonly WireItem[]): readonly Message[] {
  const instructionParts = expandFileReferences({ type: 'text', text: instructions?.toWellFormed() ?? '' });
  const content = joinInstructions([instructionParts, ...decodeSystemParts(items)]);
  const system: readonly Message[] = content.length > 0 ? [{ role: 'system', content }] : [];
  const messages = [...system, ...decodeItems(items)];
  if (messages.length > 0) return messages;
  throw new ServiceError('invalid-request', 'There is nothing to answer: both input and history are empty.', {
    param: 'input',
  });
}

/** Joins texts with an empty line between the groups; documents stay separate parts. */
function joinInstructions(groups: readonly (readonly ContentPart[])[]): readonly ContentPart[] {
  const parts: ContentPart[] = [];
  for (const group of groups) {
    const nonEmpty = group.filter((part) => part.type !== 'text' || part.text !== '');
    for (const [index, part] of nonEmpty.entries()) {
      const last = parts.at(-1);
      if (part.type !== 'text' || last?.type !== 'text') parts.push(part);
      else parts[parts.length - 1] = { type: 'text', text: `${last.text}${index === 0 ? '\n\n' : ''}${part.text}` };
    }
  }
  return parts;
}
