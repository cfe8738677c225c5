import type {
  CodeToolOptions,
  PageToolOptions,
  SearchToolOptions,
  ServerToolOptions,
} from '../../../core/server-tools.ts';
import { isDefined, omitNullish } from '../../../lib/omit-nullish.ts';
import { formatLocationHint } from '../../fields/user-location.ts';
import { isCustomTool, isServerTool, type PromptWire } from './schema.ts';
import type { ServerToolName, FetchToolWire, SearchToolWire, ServerToolWire } from './server-tool-schema.ts';

/** Converts the server tools that Parley runs. With tool_choice none there are none. The search strategy is `agent`. */
export function decodeMessagesServerTools(wire: PromptWire): ServerToolOptions | undefined {
  if (wire.tool_choice?.type === 'none') return undefined;
  const tools = listServerTools(wire);
  const search = tools.find((tool) => tool.name === 'web_search');
  const fetch = tools.find((tool) => tool.name === 'web_fetch');
  const code = tools.find((tool) => tool.name === 'code_execution');
  if (tools.length === 0) return undefined;
  return {
    ...(search ? { search: { ...decodeSearchOptions(search), isForced: findForcedTool(wire) === 'web_search' } } : {}),
    ...(fetch ? { pages: decodePageOptions(fetch) } : {}),
    ...(code ? { code: decodeCodeOptions(wire) } : {}),
  };
}

export const listServerTools = ({ tools }: PromptWire): readonly ServerToolWire[] => (tools ?? []).filter(isServerTool);

/** Converts the limits that search and fetch share: allowed or blocked hosts, and the maximum number of uses. */
const decodeLimits = ({
  allowed_domains: allowed,
  blocked_domains: blocked,
  max_uses,
}: SearchToolWire | FetchToolWire) =>
  omitNullish({
    sites: allowed?.length ? allowed : undefined,
    blockedSites: blocked?.length ? blocked : undefined,
    usesMax: max_uses,
  });

const decodeSearchOptions = (tool: SearchToolWire): Omit<SearchToolOptions, 'isForced'> => ({
  strategy: 'agent',
  usesDomainProviders: false,
  citations: 'attached',
  ...decodeLimits(tool),
  ...omitNullish({ hint: formatLocationHint(tool.user_location) }),
});

const decodePageOptions = (tool: FetchToolWire): PageToolOptions => decodeLimits(tool);

const decodeCodeOptions = (wire: PromptWire): CodeToolOptions => ({
  fileIds: listUploadedFileIds(wire),
  ...omitNullish({ containerId: getContainerId(wire) }),
});

/** Lists the files that user messages put into the container. */
const listUploadedFileIds = ({ messages }: PromptWire): readonly string[] =>
  messages.flatMap(({ role, content }) =>
    role === 'user' && typeof content === 'object'
      ? content.flatMap((block) => (block.type === 'container_upload' ? [block.file_id] : []))
      : [],
  );

function getContainerId({ container }: PromptWire): string | undefined {
  return (typeof container === 'string' ? container : container?.id) ?? undefined;
}

/**
 * Finds the server tool whose use is required: by name, or because a tool is required and the caller has none of its
 * own. Only a search can be enforced; whether the model reads a page or runs a program remains its choice.
 */
function findForcedTool(wire: PromptWire): ServerToolName | undefined {
  const { tool_choice: choice, tools } = wire;
  const names = listServerTools(wire).map(({ name }) => name);
  if (choice?.type === 'tool') return names.find((name) => name === choice.name);
  if (choice?.type !== 'any' || (tools ?? []).some(isCustomTool)) return undefined;
  return names.find((name) => name === 'web_search') ?? names[0];
}

/** Lists fields of server tools and of their container that have no effect. */
export function listIgnoredToolFields(wire: PromptWire): readonly string[] {
  const forced = findForcedTool(wire);
  const { container } = wire;
  const runsCode = listServerTools(wire).some(({ name }) => name === 'code_execution');
  const hasSkills = typeof container === 'object' && isDefined(container) && isDefined(container.skills);
  return [
    ...(forced !== undefined && forced !== 'web_search' ? ['tool_choice'] : []),
    ...(isDefined(container) && !runsCode ? ['container'] : []),
    ...(runsCode && hasSkills ? ['container.skills'] : []),
    ...(wire.tools ?? []).flatMap((tool, index) =>
      isServerTool(tool)
        ? Object.keys(tool)
            .filter((name) => !HANDLED_FIELDS.has(name) && isDefined(tool[name]))
            .map((name) => `tools[${index}].${name}`)
        : [],
    ),
  ];
}

/** Fields that need not be reported. The last four only matter for tool calls by programs or for kept results. */
const HANDLED_FIELDS = new Set([
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
