import type { ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import { checkMessages } from '../../fields/message-rules.ts';
import { checkParameters } from '../../fields/parameter-rules.ts';
import { atTop } from '../../fields/place.ts';
import { CONTENT } from '../../fields/texts.ts';
import { refuse } from '../../parse.ts';
import type { ChatCompletionWire } from './schema.ts';

/**
 * Rules of E1 that no single field can tell, with the texts of wire.md 1.7 where it has them.
 *
 * @throws ServiceError `invalid-request` naming the field.
 */
export function checkRules(wire: ChatCompletionWire, entry: ModelEntry): void {
  checkOldFields(wire);
  checkMessages(wire.messages, atTop);
  checkParts(wire.messages, entry);
  checkParameters(wire, entry, atTop);
  checkModalities(wire, entry);
}

function checkOldFields(wire: ChatCompletionWire): void {
  for (const [old, now] of [
    ['functions', 'tools'],
    ['function_call', 'tool_choice'],
  ] as const) {
    if (wire[old] !== undefined && wire[old] !== null) throw refuse(old, `${old} is not served, use ${now}`);
  }
}

function checkParts(messages: ChatCompletionWire['messages'], { name, abilities }: ModelEntry): void {
  for (const [index, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue;
    for (const [position, { type }] of content.entries()) {
      // Where nobody has said yet whether it sees, generation decides when its engine has.
      if (type === 'text' || (type === 'image_url' && abilities.vision !== false)) continue;
      const param = `messages[${index}].content[${position}].type`;
      throw new ServiceError('invalid-request', `${CONTENT} (${param}: "${type}"; ${name} has no such input)`, {
        param,
      });
    }
  }
}

function checkModalities({ modalities, audio }: ChatCompletionWire, { name, abilities }: ModelEntry): void {
  if (abilities.audio) return;
  const why = `the model ${name} gives text only`;
  if (modalities?.includes('audio')) throw refuse('modalities', `modalities must be ["text"], ${why}`);
  if (audio) throw refuse('audio', `audio is not supported, ${why}`);
}
