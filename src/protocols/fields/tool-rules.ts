import type { ModelEntry } from '../../catalogue/model.ts';
import { createFieldError } from '../parse.ts';
import type { ChatFields, WireTool } from './parameter-schema.ts';
import type { FieldPathMapper } from './field-path-mapper.ts';
import { willThink } from './thinking.ts';

/** Checks tools and `tool_choice`. @throws ServiceError `invalid-request` naming the field. */
export function checkTools(fields: ChatFields, entry: ModelEntry, toPath: FieldPathMapper): void {
  const { tool_choice: choice, n } = fields;
  const names = collectToolNames(fields.tools ?? [], toPath);
  if (names.size > 0 && (n ?? 1) > 1) throw createFieldError(toPath('n'), 'n must be 1 when tools are given', n);
  if (!choice || choice === 'auto' || choice === 'none') return;
  if (names.size === 0) throw createFieldError(toPath('tool_choice'), 'tool_choice needs tools');
  if (typeof choice === 'string') return;
  if (!names.has(choice.function.name)) {
    const rule = 'tool_choice names a function that is not among tools';
    throw createFieldError(toPath('tool_choice.function.name'), rule, choice.function.name);
  }
  if (willThink(fields, entry)) {
    const rule = 'tool_choice cannot force a function while enable_thinking (or thinking) is on';
    throw createFieldError(toPath('tool_choice'), rule);
  }
}

function collectToolNames(tools: readonly WireTool[], toPath: FieldPathMapper): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [index, tool] of tools.entries()) {
    const { name } = tool.function;
    const path = toPath(`tools[${index}].function.name`);
    if (name === 'search') throw createFieldError(path, 'Tool names are not allowed to be [search]');
    if (names.has(name)) throw createFieldError(path, 'Tool names must be unique');
    names.add(name);
  }
  return names;
}
