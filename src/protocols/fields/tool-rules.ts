import type { ModelEntry } from '../../catalogue/model.ts';
import { refuse } from '../parse.ts';
import type { ChatFields, WireTool } from './parameter-schema.ts';
import type { Place } from './place.ts';
import { willThink } from './thinking.ts';

/**
 * @throws ServiceError `invalid-request` naming the field.
 */
export function checkTools(fields: ChatFields, entry: ModelEntry, place: Place): void {
  const { tool_choice: choice, n } = fields;
  const names = toolNames(fields.tools ?? [], place);
  if (names.size > 0 && (n ?? 1) > 1) throw refuse(place('n'), 'n must be 1 when tools are given', n);
  if (!choice || choice === 'auto' || choice === 'none') return;
  if (names.size === 0) throw refuse(place('tool_choice'), 'tool_choice needs tools');
  if (typeof choice === 'string') return;
  if (!names.has(choice.function.name)) {
    const rule = 'tool_choice names a function that is not among tools';
    throw refuse(place('tool_choice.function.name'), rule, choice.function.name);
  }
  if (willThink(fields, entry)) {
    const rule = 'tool_choice cannot force a function while enable_thinking (or thinking) is on';
    throw refuse(place('tool_choice'), rule);
  }
}

function toolNames(tools: readonly WireTool[], place: Place): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [index, tool] of tools.entries()) {
    const { name } = tool.function;
    const at = place(`tools[${index}].function.name`);
    if (name === 'search') throw refuse(at, 'Tool names are not allowed to be [search]');
    if (names.has(name)) throw refuse(at, 'Tool names must be unique');
    names.add(name);
  }
  return names;
}
