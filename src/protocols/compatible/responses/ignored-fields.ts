import { isPresent } from '../../../lib/present.ts';
import { ignoredNames } from '../../fields/ignored-names.ts';
import type { WireItem } from '../items/item-schema.ts';
import { chatFields } from './chat-fields.ts';
import { forcedKind } from './offered-tools.ts';
import { INCLUDES } from './schema.ts';
import type { ResponseWire } from './schema.ts';
import { countsCalls, forcesInVain, ignoredInTools } from './server-tools.ts';
import { isFunctionTool, serverToolOf } from './tool-schema.ts';
import type { ServerToolKind } from './tool-schema.ts';

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
  const shared = ignoredNames(
    fields,
    unheard.filter((name) => !UNHEARD_TOOLS.has(name)),
  ).filter((name) => name !== 'enable_thinking' || wire.enable_thinking);
  const wishes: readonly (readonly [string, boolean])[] = [
    [
      'tool_choice',
      forcesInVain(wire) ||
        (typeof choice === 'object' && choice !== null && !CHOICES.has(choice.type) && !forcedKind(choice)),
    ],
    ['max_tool_calls', isPresent(wire.max_tool_calls) && !countsCalls(wire)],
    ['top_logprobs', Boolean(wire.top_logprobs) && !isWithLogprobs],
    ['text.verbosity', isPresent(wire.text?.verbosity) && wire.text?.verbosity !== 'medium'],
    ['stream_options.include_obfuscation', wire.stream_options?.include_obfuscation === true],
  ];
  return [
    ...shared.map(place),
    ...(wire.tools ?? []).flatMap((tool, index) => {
      const kind = serverToolOf(tool.type);
      const isHeard = kind ? !unheard.some((name) => UNHEARD_TOOLS.get(name) === kind) : isFunctionTool(tool);
      return isHeard ? [] : [`tools[${index}]`];
    }),
    ...ignoredInTools(wire),
    ...wishes.filter(([, isWish]) => isWish).map(([name]) => name),
    ...(wire.include ?? []).filter((name) => !INCLUDES.has(name)).map((name) => `include(${name})`),
    ...input.flatMap(({ type }, index) => (type === 'other' ? [`input[${index}]`] : [])),
  ];
}

/** In the words of generation. */
const UNHEARD_TOOLS: ReadonlyMap<string, ServerToolKind> = new Map([
  ['enable_search', 'search'],
  ['web_extractor', 'pages'],
  ['enable_code_interpreter', 'code'],
]);

const CHOICES = new Set(['function', 'allowed_tools']);
