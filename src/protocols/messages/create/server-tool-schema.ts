import { z } from 'zod';
import { SERVER_TOOL_USES_MAX } from '../../../core/limits.ts';
import { HostNames } from '../../fields/host-name.ts';
import { UserLocation } from '../../fields/user-location.ts';

// Tools that run here, in the versions of which every field means here what it means to their own service, or is named.

const SEARCH_TYPES = ['web_search_20250305', 'web_search_20260209', 'web_search_20260318'] as const;
const FETCH_TYPES = ['web_fetch_20250910', 'web_fetch_20260209', 'web_fetch_20260309', 'web_fetch_20260318'] as const;
const CODE_TYPES = ['code_execution_20250522'] as const;

const sites = { allowed_domains: HostNames.nullish(), blocked_domains: HostNames.nullish() };
const uses = { max_uses: z.int().min(1).max(SERVER_TOOL_USES_MAX).nullish() };

const SearchTool = z.looseObject({
  type: z.enum(SEARCH_TYPES),
  name: z.literal('web_search'),
  user_location: UserLocation.nullish(),
  ...sites,
  ...uses,
});

const FetchTool = z.looseObject({ type: z.enum(FETCH_TYPES), name: z.literal('web_fetch'), ...sites, ...uses });

const CodeTool = z.looseObject({ type: z.enum(CODE_TYPES), name: z.literal('code_execution') });

export type WireSearchTool = z.output<typeof SearchTool>;
export type WireFetchTool = z.output<typeof FetchTool>;
export type WireServerTool = WireSearchTool | WireFetchTool | z.output<typeof CodeTool>;

/** Names that such tools have, and that the calls of them carry. */
export const SERVER_TOOL_NAMES = ['web_search', 'web_fetch', 'code_execution'] as const;

export type ServerToolName = (typeof SERVER_TOOL_NAMES)[number];

const TYPES: Readonly<Record<ServerToolName, readonly string[]>> = {
  web_search: SEARCH_TYPES,
  web_fetch: FETCH_TYPES,
  code_execution: CODE_TYPES,
};

/** Types that tools of this kind may have, for a dated one; undefined where none of them runs here in any version. */
export function servedVersions(type: string): readonly string[] | undefined {
  const name = SERVER_TOOL_NAMES.find(
    (each) => type.startsWith(`${each}_`) && /^_\d{8}$/.test(type.slice(each.length)),
  );
  return name && TYPES[name];
}

/** Of a tool of this type; undefined where it does not run here. */
export const serverToolSchema = (type: string): z.ZodType<WireServerTool> | undefined =>
  [SearchTool, FetchTool, CodeTool].find((schema) => schema.shape.type.options.some((each) => each === type));
