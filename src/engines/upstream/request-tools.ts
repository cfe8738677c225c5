import type { Tool } from '../../core/message.ts';
import type { ToolUseOptions } from '../../core/request.ts';
import type { ServerProfile } from './server-profiles.ts';

/** Encodes the request fields for tools. */
export function encodeTools(
  { tools, choice, isParallel }: ToolUseOptions,
  { canForceTool }: Pick<ServerProfile, 'canForceTool'>,
): object {
  const offeredTools =
    typeof choice === 'object' && !canForceTool ? tools.filter(({ name }) => name === choice.name) : tools;
  return {
    tools: offeredTools.map(encodeTool),
    ...encodeToolChoice(offeredTools === tools ? choice : 'required'),
    // Servers have different defaults.
    parallel_tool_calls: isParallel,
  };
}

/** Omits `auto`, the default of every server when there are tools. */
function encodeToolChoice(choice: ToolUseOptions['choice']): object {
  if (choice === 'auto') return {};
  return {
    tool_choice: typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } },
  };
}

const encodeTool = ({ name, description, parameters }: Tool): object => ({
  type: 'function',
  function: {
    name,
    ...(description === '' ? {} : { description }),
    // Templates read `properties` even if the server treats it as optional.
    parameters: parameters ?? { type: 'object', properties: {} },
  },
});
