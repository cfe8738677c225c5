import { ignoredNames } from '../../fields/ignored-names.ts';
import type { WireItem } from '../items/item-schema.ts';
import { chatFields } from './chat-fields.ts';
import { isFunctionTool, LOGPROBS_INCLUDE } from './schema.ts';
import type { ResponseWire } from './schema.ts';

/**
 * Known fields that ask for something that does not happen.
 *
 * @param input What was said now.
 * @param unheard What generation did not hear, in its words.
 */
export function ignoredFields(
  wire: ResponseWire,
  input: readonly WireItem[],
  unheard: readonly string[],
): readonly string[] {
  const { fields, place } = chatFields(wire);
  const choice = wire.tool_choice;
  const isWithLogprobs = fields.logprobs === true;
  const shared = ignoredNames(fields, unheard).filter((name) => name !== 'enable_thinking' || wire.enable_thinking);
  const wishes: readonly (readonly [string, boolean])[] = [
    ['tool_choice', typeof choice === 'object' && choice !== null && !CHOICES.has(choice.type)],
    ['max_tool_calls', isSet(wire.max_tool_calls)],
    ['top_logprobs', Boolean(wire.top_logprobs) && !isWithLogprobs],
    ['text.verbosity', isSet(wire.text?.verbosity) && wire.text?.verbosity !== 'medium'],
    ['stream_options.include_obfuscation', wire.stream_options?.include_obfuscation === true],
  ];
  return [
    ...shared.map(place),
    ...(wire.tools ?? []).flatMap((tool, index) => (isFunctionTool(tool) ? [] : [`tools[${index}]`])),
    ...wishes.filter(([, isWish]) => isWish).map(([name]) => name),
    ...(wire.include ?? []).filter((name) => name !== LOGPROBS_INCLUDE).map((name) => `include(${name})`),
    ...input.flatMap(({ type }, index) => (type === 'other' ? [`input[${index}]`] : [])),
  ];
}

const CHOICES = new Set(['function', 'allowed_tools']);

const isSet = (value: unknown): boolean => value !== undefined && value !== null;
