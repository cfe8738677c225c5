import type { CodeToolOptions, SearchToolOptions, ServerToolOptions } from '../../../core/server-tools.ts';
import { isDefined, omitNullish } from '../../../lib/omit-nullish.ts';
import { formatLocationHint } from '../../fields/user-location.ts';
import { getForcedToolKind, listOfferedFunctions, listOfferedToolKinds, requiresCall } from './offered-tools.ts';
import type { ResponseWire } from './schema.ts';
import { isCodeTool, isSearchTool, type ResponseCodeTool, type ResponseSearchTool } from './tool-schema.ts';

/**
 * Converts the offered server tools to options. Search uses the `agent` strategy: it repeats until the results suffice.
 */
export function decodeResponseServerTools(wire: ResponseWire): ServerToolOptions | undefined {
  const kinds = listOfferedToolKinds(wire);
  if (kinds.size === 0) return undefined;
  const tools = wire.tools ?? [];
  const search = kinds.has('search') ? tools.find(isSearchTool) : undefined;
  const code = kinds.has('code') ? tools.find(isCodeTool) : undefined;
  const callLimit = canLimitCalls(wire) ? omitNullish({ usesMax: wire.max_tool_calls }) : {};
  return {
    ...(search ? { search: { ...decodeSearchTool(search), isForced: isSearchForced(wire), ...callLimit } } : {}),
    ...(kinds.has('pages') ? { pages: callLimit } : {}),
    ...(code ? { code: { ...decodeCodeTool(code), ...callLimit } } : {}),
  };
}

const decodeSearchTool = ({
  filters,
  user_location: location,
}: ResponseSearchTool): Omit<SearchToolOptions, 'isForced'> => ({
  strategy: 'agent',
  usesDomainProviders: false,
  citations: 'attached',
  ...omitNullish({
    sites: filters?.allowed_domains?.length ? filters.allowed_domains : undefined,
    hint: formatLocationHint(location),
  }),
});

const decodeCodeTool = ({ container }: ResponseCodeTool): CodeToolOptions =>
  typeof container === 'string' ? { fileIds: [], containerId: container } : { fileIds: container?.file_ids ?? [] };

/**
 * Tells whether `max_tool_calls` can be applied: it limits all tools together, but Parley limits each one separately.
 */
export const canLimitCalls = (wire: ResponseWire): boolean =>
  isDefined(wire.max_tool_calls) && listOfferedToolKinds(wire).size === 1;

/** Tells whether a search is forced: by its type, or because a call is required and no function is offered. */
const isSearchForced = (wire: ResponseWire): boolean =>
  getForcedToolKind(wire.tool_choice) === 'search' ||
  (requiresCall(wire.tool_choice) && listOfferedFunctions(wire).length === 0);

/** Tells whether `tool_choice` requires a server tool that cannot be forced. */
export function forcesUnforceableTool(wire: ResponseWire): boolean {
  const kind = getForcedToolKind(wire.tool_choice);
  if (kind !== undefined) return kind !== 'search';
  const kinds = listOfferedToolKinds(wire);
  return (
    requiresCall(wire.tool_choice) && listOfferedFunctions(wire).length === 0 && kinds.size > 0 && !kinds.has('search')
  );
}

/** Lists fields of server tools that have no effect. */
export function listIgnoredToolFields({ tools }: ResponseWire): readonly string[] {
  const seenKinds = new Set<string>();
  return (tools ?? []).flatMap((tool, index) => {
    const path = `tools[${index}]`;
    if (isSearchTool(tool)) {
      if (seenKinds.has('search')) return [path];
      seenKinds.add('search');
      const hasIgnoredSize = isDefined(tool.search_context_size) && tool.search_context_size !== 'medium';
      const otherFields = Object.keys(tool).filter((name) => !SEARCH_FIELDS.has(name) && isDefined(tool[name]));
      return [
        ...(hasIgnoredSize ? [`${path}.search_context_size`] : []),
        ...otherFields.map((name) => `${path}.${name}`),
      ];
    }
    if (!isCodeTool(tool)) return [];
    if (seenKinds.has('code')) return [path];
    seenKinds.add('code');
    const { container } = tool;
    if (typeof container !== 'object' || container === null) return [];
    const otherFields = Object.keys(container).filter(
      (name) => !CONTAINER_FIELDS.has(name) && isDefined(Reflect.get(container, name)),
    );
    return otherFields.map((name) => `${path}.container.${name}`);
  });
}

const SEARCH_FIELDS = new Set(['type', 'filters', 'search_context_size', 'user_location']);
const CONTAINER_FIELDS = new Set(['type', 'file_ids']);
