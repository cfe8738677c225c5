import { ServiceError } from '../../../core/error.ts';
import type { Message, Part } from '../../../core/message.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import type { Shortenable } from '../../../generation/fit-history.ts';
import { present } from '../../../lib/present.ts';
import { decodeChat } from '../../fields/decode-chat.ts';
import { decodeItems, systemParts, withReferences } from '../items/decode-items.ts';
import { historyTurns } from '../items/history-turns.ts';
import type { WireItem } from '../items/item-schema.ts';
import { chatFields } from './chat-fields.ts';
import type { ResponseWire } from './schema.ts';
import { serverToolsOf } from './server-tools.ts';

/** What is there already, and what is said now. */
export interface TurnItems {
  readonly history: readonly WireItem[];
  readonly input: readonly WireItem[];
}

export interface DecodedTurn extends Shortenable {
  /** Of the history, with so many turns left out. */
  readonly itemsLeftOut: (dropped: number) => number;
}

/** The wire's words in ours. The wire was checked by schema.ts and rules.ts. @param further Fields that we do not know. */
export function decode(
  wire: ResponseWire,
  { history, input }: TurnItems,
  further?: GenerationRequest['further'],
): DecodedTurn {
  const { fields, place } = chatFields(wire);
  const turns = historyTurns(history, input);
  const serverTools = serverToolsOf(wire);
  const request = { ...decodeChat(wire.model, fields, place), ...present({ serverTools, further }) };
  return {
    turns: turns.count,
    without: (dropped) => ({ ...request, messages: messagesOf(wire, [...turns.without(dropped), ...input]) }),
    itemsLeftOut: (dropped) => history.length - turns.without(dropped).length,
  };
}

/** What this call, the system and the developer say comes first and as one: it outranks all else on every template. */
function messagesOf({ instructions }: ResponseWire, items: readonly WireItem[]): readonly Message[] {
  const own = withReferences({ type: 'text', text: instructions?.toWellFormed() ?? '' });
  const content = joined([own, ...systemParts(items)]);
  const system: readonly Message[] = content.length > 0 ? [{ role: 'system', content }] : [];
  const messages = [...system, ...decodeItems(items)];
  if (messages.length > 0) return messages;
  throw new ServiceError('invalid-request', 'There is nothing to answer: neither input nor history says anything.', {
    param: 'input',
  });
}

/** Orders with an empty line between them; documents among them stand apart by themselves. */
function joined(orders: readonly (readonly Part[])[]): readonly Part[] {
  const parts: Part[] = [];
  for (const order of orders) {
    const said = order.filter((part) => part.type !== 'text' || part.text !== '');
    for (const [index, part] of said.entries()) {
      const last = parts.at(-1);
      if (part.type !== 'text' || last?.type !== 'text') parts.push(part);
      else parts[parts.length - 1] = { type: 'text', text: `${last.text}${index === 0 ? '\n\n' : ''}${part.text}` };
    }
  }
  return parts;
}
