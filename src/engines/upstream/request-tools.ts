import type { Tool } from '../../core/message.ts';
import type { ToolUse } from '../../core/request.ts';
import type { Server } from './servers.ts';

/** The fields that say what may be called. */
export function toTools({ tools, choice, isParallel }: ToolUse, { namesTool }: Pick<Server, 'namesTool'>): object {
  const only = typeof choice === 'object' && !namesTool ? tools.filter(({ name }) => name === choice.name) : tools;
  return {
    tools: only.map(toTool),
    ...toChoice(only === tools ? choice : 'required'),
    // Servers differ in what absent means.
    parallel_tool_calls: isParallel,
  };
}

/** Beside tools, auto is what every server does by itself. */
function toChoice(choice: ToolUse['choice']): object {
  if (choice === 'auto') return {};
  return {
    tool_choice: typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } },
  };
}

const toTool = ({ name, description, parameters }: Tool): object => ({
  type: 'function',
  function: {
    name,
    ...(description === '' ? {} : { description }),
    // Templates look for the properties of what a server lets be absent.
    parameters: parameters ?? { type: 'object', properties: {} },
  },
});
