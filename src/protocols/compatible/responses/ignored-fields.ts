import { isDefined } from '../../../lib/omit-nullish.ts';
import { toIgnoredFieldNames } from '../../fields/ignored-field-names.ts';
import type { WireItem } from '../items/item-schema.ts';
import { toChatFields } from './chat-fields.ts';
import { getForcedToolKind } from './offered-tools.ts';
import { SUPPORTED_INCLUDES, type ResponseWire } from './schema.ts';
import { canLimitCalls, forcesUnforceableTool, listIgnoredToolFields } from './server-tools.ts';
import { isFunctionTool, getServerToolKind, type ServerToolKind } from './tool-schema.ts';

/**
 * Lists known fields that request a feature without having an effect.
 *
 * @param input Items of this request.
 * @param ignoredByModel Names that generation ignored.
 */
export function listIgnoredResponseFields(
  wire: ResponseWire,
  input: readonly WireItem[],
  ignoredByModel: readonly string[],
): readonly string[] {
  const { fields, toPath } = toChatFields(wire);
  const choice = wire.tool_choice;
  const isWithLogprobs = fields.logprobs === true;
  const shared = toIgnoredFieldNames(
    fields,
    ignoredByModel.filter((name) => !TOOL_OF_IGNORED_NAME.has(name)),
  ).filter((name) => name !== 'enable_thinking' || wire.enable_thinking);
  const candidates: readonly (readonly [string, boolean])[] = [
    [
      'tool_choice',
      forcesUnforceableTool(wire) ||
        (typeof choice === 'object' &&
          choice !== null &&
          !ENFORCEABLE_CHOICES.has(choice.type) &&
          !getForcedToolKind(choice)),
    ],
    ['max_tool_calls', isDefined(wire.max_tool_calls) && !canLimitCalls(wire)],
    ['top_logprobs', Boolean(wire.top_logprobs) && !isWithLogprobs],
    ['text.verbosity', isDefined(wire.text?.verbosity) && wire.text?.verbosity !== 'medium'],
    ['stream_options.include_obfuscation', wire.stream_options?.include_obfuscation === true],
  ];
  return [
    ...shared.map(toPath),
    ...(wire.tools ?? []).flatMap((tool, index) => {
      const kind = getServerToolKind(tool.type);
      const isSupported = kind
        ? !ignoredByModel.some((name) => TOOL_OF_IGNORED_NAME.get(name) === kind)
        : isFunctionTool(tool);
      return isSupported ? [] : [`tools[${index}]`];
    }),
    ...listIgnoredToolFields(wire),
    ...candidates.filter(([, isIgnored]) => isIgnored).map(([name]) => name),
    ...(wire.include ?? []).filter((name) => !SUPPORTED_INCLUDES.has(name)).map((name) => `include(${name})`),
    ...input.flatMap(({ type }, index) => (type === 'other' ? [`input[${index}]`] : [])),
  ];
}

/** Server tools by the names that generation uses for ignored ones. */
const TOOL_OF_IGNORED_NAME: ReadonlyMap<string, ServerToolKind> = new Map([
  ['enable_search', 'search'],
  ['web_extractor', 'pages'],
  ['enable_code_interpreter', 'code'],
]);

const ENFORCEABLE_CHOICES = new Set(['function', 'allowed_tools']);
