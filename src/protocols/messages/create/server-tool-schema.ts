import { z } from 'zod';
import { SERVER_TOOL_USES_MAX } from '../../limits.ts';
import { HostNameList } from '../../fields/host-name.ts';
import { UserLocation } from '../../fields/user-location.ts';

// Versions of server tools whose fields all have the same meaning in Parley as in the original service, or are reported
// as ignored.

const SEARCH_TYPES = ['web_search_20250305', 'web_search_20260209', 'web_search_20260318'] as const;
const FETCH_TYPES = ['web_fetch_20250910', 'web_fetch_20260209', 'web_fetch_20260309', 'web_fetch_20260318'] as const;
const CODE_TYPES = ['code_execution_20250522'] as const;

const siteFields = { allowed_domains: HostNameList.nullish(), blocked_domains: HostNameList.nullish() };
const usesFields = { max_uses: z.int().min(1).max(SERVER_TOOL_USES_MAX).nullish() };

const SearchTool = z.looseObject({
  type: z.enum(SEARCH_TYPES),
  name: z.literal('web_search'),
  user_location: UserLocation.nullish(),
  ...siteFields,
  ...usesFields,
});

const FetchTool = z.looseObject({
  type: z.enum(FETCH_TYPES),
  name: z.literal('web_fetch'),
  ...siteFields,
  ...usesFields,
});

const CodeTool = z.looseObject({ type: z.enum(CODE_TYPES), name: z.literal('code_execution') });

export type SearchToolWire = z.output<typeof SearchTool>;
export type FetchToolWire = z.output<typeof FetchTool>;
export type ServerToolWire = SearchToolWire | FetchToolWire | z.output<typeof CodeTool>;

/** Names of server tools, also used by their calls. */
export const SERVER_TOOL_NAMES = ['web_search', 'web_fetch', 'code_execution'] as const;

export type ServerToolName = (typeof SERVER_TOOL_NAMES)[number];

const SERVED_VERSIONS: Readonly<Record<ServerToolName, readonly string[]>> = {
  web_search: SEARCH_TYPES,
  web_fetch: FETCH_TYPES,
  code_execution: CODE_TYPES,
};

/** Finds the supported versions of a dated tool type; undefined if Parley runs no version of that tool. */
export function findServedVersions(type: string): readonly string[] | undefined {
  const name = SERVER_TOOL_NAMES.find(
    (each) => type.startsWith(`${each}_`) && /^_\d{8}$/.test(type.slice(each.length)),
  );
  return name && SERVED_VERSIONS[name];
}

/** Selects the schema for a tool type; undefined if Parley does not run it. */
export const selectServerToolSchema = (type: string): z.ZodType<ServerToolWire> | undefined =>
  [SearchTool, FetchTool, CodeTool].find((schema) => schema.shape.type.options.some((each) => each === type));
