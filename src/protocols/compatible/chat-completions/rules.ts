import type { ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import { checkMessages } from '../../fields/message-rules.ts';
import { checkParameters } from '../../fields/parameter-rules.ts';
import { topLevelPath } from '../../fields/field-path-mapper.ts';
import { CONTENT_NOT_STRING } from '../../fields/parameter-texts.ts';
import { createFieldError } from '../../parse.ts';
import type { ChatCompletionWire } from './schema.ts';

/**
 * Checks rules that involve several fields. Prescribed texts: docs/wire/openai-compatible.md#errors.
 *
 * @throws ServiceError `invalid-request` naming the field.
 */
export function checkChatRules(wire: ChatCompletionWire, entry: ModelEntry): void {
  checkObsoleteFields(wire);
  checkMessages(wire.messages, topLevelPath);
  checkParts(wire.messages, entry);
  checkParameters(wire, entry, topLevelPath);
  checkModalities(wire, entry);
}

function checkObsoleteFields(wire: ChatCompletionWire): void {
  for (const [old, now] of [
    ['functions', 'tools'],
    ['function_call', 'tool_choice'],
  ] as const) {
    if (wire[old] !== undefined && wire[old] !== null) throw createFieldError(old, `${old} is not served, use ${now}`);
  }
}

function checkParts(messages: ChatCompletionWire['messages'], { name, abilities }: ModelEntry): void {
  for (const [index, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue;
    for (const [position, { type }] of content.entries()) {
      // While it is unknown whether the model accepts images, generation decides once the engine is known.
      if (type === 'text' || (type === 'image_url' && abilities.vision !== false)) continue;
      const param = `messages[${index}].content[${position}].type`;
      throw new ServiceError(
        'invalid-request',
        `${CONTENT_NOT_STRING} (${param}: "${type}"; ${name} has no such input)`,
        {
          param,
        },
      );
    }
  }
}

function checkModalities({ modalities, audio }: ChatCompletionWire, { name, abilities }: ModelEntry): void {
  if (abilities.audio) return;
  const why = `the model ${name} returns text only`;
  if (modalities?.includes('audio')) throw createFieldError('modalities', `modalities must be ["text"], ${why}`);
  if (audio) throw createFieldError('audio', `audio is not supported, ${why}`);
}
