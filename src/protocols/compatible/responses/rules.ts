import type { ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import { isDefined } from '../../../lib/omit-nullish.ts';
import { checkParameters } from '../../fields/parameter-rules.ts';
import { CONTENT_NOT_STRING } from '../../fields/parameter-texts.ts';
import { createFieldError } from '../../parse.ts';
import type { WireItem } from '../items/item-schema.ts';
import { toChatFields } from './chat-fields.ts';
import {
  listAllowedToolKinds,
  listAllowedFunctionNames,
  getForcedToolKind,
  listRequestedToolKinds,
} from './offered-tools.ts';
import type { ResponseWire } from './schema.ts';
import { isFunctionTool, getServerToolKind } from './tool-schema.ts';

/**
 * Checks rules that involve several fields (docs/wire/openai-compatible.md#responses-request).
 *
 * @throws ServiceError `invalid-request` or `unsupported`, naming the field.
 */
export function checkResponseRules(wire: ResponseWire): void {
  if (isDefined(wire.prompt)) throw new ServiceError('unsupported', 'prompt is not supported', { param: 'prompt' });
  if (wire.background === true && wire.store === false) {
    throw createFieldError('store', 'background requires store, because the response is retrieved later', false);
  }
  const isChained = isDefined(wire.conversation) || isDefined(wire.previous_response_id);
  if (isDefined(wire.conversation) && isDefined(wire.previous_response_id)) {
    throw createFieldError('previous_response_id', 'conversation and previous_response_id cannot be used together');
  }
  const { input } = wire;
  const isEmpty = !isDefined(input) || input === '' || (Array.isArray(input) && input.length === 0);
  if (isEmpty && !isChained)
    throw createFieldError('input', 'input must not be empty without conversation or previous_response_id');
  checkChoice(wire);
  checkExtractor(wire);
}

function checkChoice({ tools, tool_choice: choice }: ResponseWire): void {
  const known = new Set((tools ?? []).filter(isFunctionTool).map(({ name }) => name));
  const unknownName = [...(listAllowedFunctionNames(choice) ?? [])].find((name) => !known.has(name));
  if (unknownName !== undefined)
    throw createFieldError('tool_choice.tools', 'tool_choice allows a function that is not among tools');
  const requestedKinds = listRequestedToolKinds(tools);
  if ([...(listAllowedToolKinds(choice) ?? [])].some((kind) => !requestedKinds.has(kind)))
    throw createFieldError('tool_choice.tools', 'tool_choice allows a tool that is not among tools');
  const forced = getForcedToolKind(choice);
  if (forced && !requestedKinds.has(forced))
    throw createFieldError('tool_choice', 'tool_choice names a tool that is not among tools');
}

/** Checks that web_extractor comes with web_search: it reads pages that a search found. */
function checkExtractor({ tools }: ResponseWire): void {
  const requestedKinds = listRequestedToolKinds(tools);
  if (!requestedKinds.has('pages') || requestedKinds.has('search')) return;
  const index = (tools ?? []).findIndex(({ type }) => getServerToolKind(type) === 'pages');
  throw createFieldError(`tools[${index}].type`, 'web_extractor needs web_search among tools');
}

/**
 * Checks the rules shared with the chat interfaces.
 *
 * @param texts Returns all texts of the prompt; called only if a rule needs them.
 * @throws ServiceError `invalid-request` naming the field.
 */
export function checkSharedRules(wire: ResponseWire, entry: ModelEntry, texts: () => readonly string[]): void {
  const { fields, toPath } = toChatFields(wire);
  const messageTexts = wire.text?.format?.type === 'json_object' ? texts() : [];
  const messages = messageTexts.map((content) => ({ role: 'user' as const, content }));
  checkParameters({ ...fields, messages }, entry, toPath);
}

/**
 * Checks images in the input.
 * @throws ServiceError `invalid-request` naming the first one, if the model accepts none.
 */
export function checkImages(input: readonly WireItem[], { name, abilities }: ModelEntry): void {
  // While it is unknown whether the model accepts images, generation decides once the engine is known.
  if (abilities.vision !== false) return;
  for (const [index, item] of input.entries()) {
    const field = item.type === 'message' ? 'content' : 'output';
    const content = item.type === 'message' ? item.content : item.type === 'function_call_output' ? item.output : '';
    if (typeof content === 'string') continue;
    const position = content.findIndex(({ type }) => type === 'input_image');
    if (position < 0) continue;
    throw createFieldError(
      `input[${index}].${field}[${position}].type`,
      `${CONTENT_NOT_STRING} ${name} has no such input`,
    );
  }
}
