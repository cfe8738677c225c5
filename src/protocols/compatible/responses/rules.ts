import type { ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import { isPresent } from '../../../lib/present.ts';
import { checkParameters } from '../../fields/parameter-rules.ts';
import { CONTENT } from '../../fields/texts.ts';
import { refuse } from '../../parse.ts';
import type { WireItem } from '../items/item-schema.ts';
import { chatFields } from './chat-fields.ts';
import { allowedKinds, allowedNames, forcedKind, givenKinds } from './offered-tools.ts';
import type { ResponseWire } from './schema.ts';
import { isFunctionTool, serverToolOf } from './tool-schema.ts';

/**
 * Rules of wire.md E6.3 that no single field can tell.
 *
 * @throws ServiceError `invalid-request` or `unsupported`, naming the field.
 */
export function checkRules(wire: ResponseWire): void {
  if (isPresent(wire.prompt)) throw new ServiceError('unsupported', 'prompt is not supported', { param: 'prompt' });
  if (wire.background === true && wire.store === false) {
    throw refuse('store', 'background needs store: its answer would be nowhere', false);
  }
  const isChained = isPresent(wire.conversation) || isPresent(wire.previous_response_id);
  if (isPresent(wire.conversation) && isPresent(wire.previous_response_id)) {
    throw refuse('previous_response_id', 'conversation and previous_response_id cannot be used together');
  }
  const { input } = wire;
  const isEmpty = !isPresent(input) || input === '' || (Array.isArray(input) && input.length === 0);
  if (isEmpty && !isChained)
    throw refuse('input', 'input must say something, or go on from a conversation or response');
  checkChoice(wire);
  checkExtractor(wire);
}

function checkChoice({ tools, tool_choice: choice }: ResponseWire): void {
  const known = new Set((tools ?? []).filter(isFunctionTool).map(({ name }) => name));
  const foreign = [...(allowedNames(choice) ?? [])].find((name) => !known.has(name));
  if (foreign !== undefined) throw refuse('tool_choice.tools', 'tool_choice allows a function that is not among tools');
  const given = givenKinds(tools);
  if ([...(allowedKinds(choice) ?? [])].some((kind) => !given.has(kind)))
    throw refuse('tool_choice.tools', 'tool_choice allows a tool that is not among tools');
  const forced = forcedKind(choice);
  if (forced && !given.has(forced)) throw refuse('tool_choice', 'tool_choice names a tool that is not among tools');
}

/** Pages are read that a search found. */
function checkExtractor({ tools }: ResponseWire): void {
  const given = givenKinds(tools);
  if (!given.has('pages') || given.has('search')) return;
  const index = (tools ?? []).findIndex(({ type }) => serverToolOf(type) === 'pages');
  throw refuse(`tools[${index}].type`, 'web_extractor needs web_search among tools');
}

/**
 * Rules that are the same on the chat interfaces.
 *
 * @param texts All that the model is told in words; asked for only where a rule is about them.
 * @throws ServiceError `invalid-request` naming the field.
 */
export function checkShared(wire: ResponseWire, entry: ModelEntry, texts: () => readonly string[]): void {
  const { fields, place } = chatFields(wire);
  const told = wire.text?.format?.type === 'json_object' ? texts() : [];
  const messages = told.map((content) => ({ role: 'user' as const, content }));
  checkParameters({ ...fields, messages }, entry, place);
}

/** @throws ServiceError `invalid-request` naming the first image, for a model that takes none. */
export function checkImages(input: readonly WireItem[], { name, abilities }: ModelEntry): void {
  // Where nobody has said yet whether it sees, generation decides when its engine has.
  if (abilities.vision !== false) return;
  for (const [index, item] of input.entries()) {
    const field = item.type === 'message' ? 'content' : 'output';
    const content = item.type === 'message' ? item.content : item.type === 'function_call_output' ? item.output : '';
    if (typeof content === 'string') continue;
    const position = content.findIndex(({ type }) => type === 'input_image');
    if (position < 0) continue;
    throw refuse(`input[${index}].${field}[${position}].type`, `${CONTENT} ${name} has no such input`);
  }
}
