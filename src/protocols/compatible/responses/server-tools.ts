import type { CodeWish, SearchWish, ServerTools } from '../../../core/server-tools.ts';
import { isPresent, present } from '../../../lib/present.ts';
import { locationHint } from '../../fields/user-location.ts';
import { forcedKind, offeredFunctions, offeredKinds, requiresCall } from './offered-tools.ts';
import type { ResponseWire } from './schema.ts';
import { isCodeTool, isSearchTool } from './tool-schema.ts';
import type { WireCodeTool, WireSearchTool } from './tool-schema.ts';

/** The tools that run here and may be used, as the wish of a model that searches until there is enough. */
export function serverToolsOf(wire: ResponseWire): ServerTools | undefined {
  const offered = offeredKinds(wire);
  if (offered.size === 0) return undefined;
  const tools = wire.tools ?? [];
  const search = offered.has('search') ? tools.find(isSearchTool) : undefined;
  const code = offered.has('code') ? tools.find(isCodeTool) : undefined;
  const uses = countsCalls(wire) ? present({ usesMax: wire.max_tool_calls }) : {};
  return {
    ...(search ? { search: { ...searchOf(search), isForced: isSearchForced(wire), ...uses } } : {}),
    ...(offered.has('pages') ? { pages: uses } : {}),
    ...(code ? { code: { ...codeOf(code), ...uses } } : {}),
  };
}

const searchOf = ({ filters, user_location: location }: WireSearchTool): Omit<SearchWish, 'isForced'> => ({
  strategy: 'agent',
  withDomains: false,
  citations: 'attached',
  ...present({
    sites: filters?.allowed_domains?.length ? filters.allowed_domains : undefined,
    hint: locationHint(location),
  }),
});

const codeOf = ({ container }: WireCodeTool): CodeWish =>
  typeof container === 'string' ? { fileIds: [], containerId: container } : { fileIds: container?.file_ids ?? [] };

/** Whether `max_tool_calls` is heard: it counts calls of all tools that run here together, and each is limited by itself. */
export const countsCalls = (wire: ResponseWire): boolean =>
  isPresent(wire.max_tool_calls) && offeredKinds(wire).size === 1;

/** By its name, or because a call is asked for and there is nothing else to be called. */
const isSearchForced = (wire: ResponseWire): boolean =>
  forcedKind(wire.tool_choice) === 'search' || (requiresCall(wire.tool_choice) && offeredFunctions(wire).length === 0);

/** Whether `tool_choice` asks for a tool that runs here and that nothing can force. */
export function forcesInVain(wire: ResponseWire): boolean {
  const kind = forcedKind(wire.tool_choice);
  if (kind !== undefined) return kind !== 'search';
  const offered = offeredKinds(wire);
  return (
    requiresCall(wire.tool_choice) && offeredFunctions(wire).length === 0 && offered.size > 0 && !offered.has('search')
  );
}

/** Fields of tools that run here which change nothing there. */
export function ignoredInTools({ tools }: ResponseWire): readonly string[] {
  const seen = new Set<string>();
  return (tools ?? []).flatMap((tool, index) => {
    const at = `tools[${index}]`;
    if (isSearchTool(tool)) {
      if (seen.has('search')) return [at];
      seen.add('search');
      const isOther = isPresent(tool.search_context_size) && tool.search_context_size !== 'medium';
      const inside = Object.keys(tool).filter((name) => !SEARCH_FIELDS.has(name) && isPresent(tool[name]));
      return [...(isOther ? [`${at}.search_context_size`] : []), ...inside.map((name) => `${at}.${name}`)];
    }
    if (!isCodeTool(tool)) return [];
    if (seen.has('code')) return [at];
    seen.add('code');
    const { container } = tool;
    if (typeof container !== 'object' || container === null) return [];
    const inside = Object.keys(container).filter(
      (name) => !CONTAINER_FIELDS.has(name) && isPresent(Reflect.get(container, name)),
    );
    return inside.map((name) => `${at}.container.${name}`);
  });
}

const SEARCH_FIELDS = new Set(['type', 'filters', 'search_context_size', 'user_location']);
const CONTAINER_FIELDS = new Set(['type', 'file_ids']);
