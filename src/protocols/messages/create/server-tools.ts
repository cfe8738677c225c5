import type { CodeWish, PagesWish, SearchWish, ServerTools } from '../../../core/server-tools.ts';
import { isPresent, present } from '../../../lib/present.ts';
import { locationHint } from '../../fields/user-location.ts';
import { isCustom, isServerTool } from './schema.ts';
import type { PromptWire } from './schema.ts';
import type { ServerToolName, WireFetchTool, WireSearchTool, WireServerTool } from './server-tool-schema.ts';

/** The tools that run here, as the wish of a model that searches until there is enough. `tool_choice` none: it is told of none. */
export function serverToolsOf(wire: PromptWire): ServerTools | undefined {
  if (wire.tool_choice?.type === 'none') return undefined;
  const tools = serverToolsIn(wire);
  const search = tools.find((tool) => tool.name === 'web_search');
  const fetch = tools.find((tool) => tool.name === 'web_fetch');
  const code = tools.find((tool) => tool.name === 'code_execution');
  if (tools.length === 0) return undefined;
  return {
    ...(search ? { search: { ...searchOf(search), isForced: forcedTool(wire) === 'web_search' } } : {}),
    ...(fetch ? { pages: pagesOf(fetch) } : {}),
    ...(code ? { code: codeOf(wire) } : {}),
  };
}

export const serverToolsIn = ({ tools }: PromptWire): readonly WireServerTool[] => (tools ?? []).filter(isServerTool);

/** What both have: only these hosts, or none of those. */
const limitsOf = ({ allowed_domains: allowed, blocked_domains: blocked, max_uses }: WireSearchTool | WireFetchTool) =>
  present({
    sites: allowed?.length ? allowed : undefined,
    blockedSites: blocked?.length ? blocked : undefined,
    usesMax: max_uses,
  });

const searchOf = (tool: WireSearchTool): Omit<SearchWish, 'isForced'> => ({
  strategy: 'agent',
  withDomains: false,
  citations: 'attached',
  ...limitsOf(tool),
  ...present({ hint: locationHint(tool.user_location) }),
});

const pagesOf = (tool: WireFetchTool): PagesWish => limitsOf(tool);

const codeOf = (wire: PromptWire): CodeWish => ({
  fileIds: uploadsIn(wire),
  ...present({ containerId: containerIdOf(wire) }),
});

/** Files that user messages put into the container. */
const uploadsIn = ({ messages }: PromptWire): readonly string[] =>
  messages.flatMap(({ role, content }) =>
    role === 'user' && typeof content === 'object'
      ? content.flatMap((block) => (block.type === 'container_upload' ? [block.file_id] : []))
      : [],
  );

function containerIdOf({ container }: PromptWire): string | undefined {
  return (typeof container === 'string' ? container : container?.id) ?? undefined;
}

/**
 * The one that has to be used: by its name, or because some tool has to be and there is no other. A search can be made
 * sure of; whether a page is read or a program written is the model's.
 */
function forcedTool(wire: PromptWire): ServerToolName | undefined {
  const { tool_choice: choice, tools } = wire;
  const names = serverToolsIn(wire).map(({ name }) => name);
  if (choice?.type === 'tool') return names.find((name) => name === choice.name);
  if (choice?.type !== 'any' || (tools ?? []).some(isCustom)) return undefined;
  return names.find((name) => name === 'web_search') ?? names[0];
}

/** Fields of tools that run here, and of their container, which change nothing there. */
export function ignoredInTools(wire: PromptWire): readonly string[] {
  const forced = forcedTool(wire);
  const { container } = wire;
  const runsCode = serverToolsIn(wire).some(({ name }) => name === 'code_execution');
  const skills = typeof container === 'object' && isPresent(container) && isPresent(container.skills);
  return [
    ...(forced !== undefined && forced !== 'web_search' ? ['tool_choice'] : []),
    ...(isPresent(container) && !runsCode ? ['container'] : []),
    ...(runsCode && skills ? ['container.skills'] : []),
    ...(wire.tools ?? []).flatMap((tool, index) =>
      isServerTool(tool)
        ? Object.keys(tool)
            .filter((name) => !HEARD.has(name) && isPresent(tool[name]))
            .map((name) => `tools[${index}].${name}`)
        : [],
    ),
  ];
}

/** The last four say how an answer is put together where programs call tools, or what is not kept is read: nothing here does. */
const HEARD = new Set([
  'type',
  'name',
  'allowed_domains',
  'blocked_domains',
  'max_uses',
  'user_location',
  'strict',
  'use_cache',
  'response_inclusion',
  'defer_loading',
]);
