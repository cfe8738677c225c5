import { z } from 'zod';
import { SEARCH_HINT_CODE_POINTS_MAX } from '../limits.ts';
import type { CitationStyle, SearchStrategy, SearchToolOptions } from '../../core/server-tools.ts';
import { isDefined, omitNullish } from '../../lib/omit-nullish.ts';
import { HostNameList } from './host-name.ts';

/** Search strategies by their wire names; `standard` and `pro` are names that older clients send. */
const STRATEGIES = {
  turbo: 'turbo',
  max: 'max',
  agent: 'agent',
  agent_max: 'agent-max',
  standard: 'turbo',
  pro: 'max',
} as const satisfies Record<string, SearchStrategy>;

const CITATION_FORMATS = {
  '[<number>]': 'number',
  '[ref_<number>]': 'ref-number',
} as const satisfies Record<string, CitationStyle>;

const Hint = z.string().refine((text) => Array.from(text).length <= SEARCH_HINT_CODE_POINTS_MAX, {
  message: `must have at most ${SEARCH_HINT_CODE_POINTS_MAX} characters`,
});

/** `search_options` (docs/wire/dashscope-native.md#web-search). */
export const SearchOptions = z.object({
  forced_search: z.boolean().nullish(),
  search_strategy: z.enum(['turbo', 'max', 'agent', 'agent_max', 'standard', 'pro']).nullish(),
  enable_search_extension: z.boolean().nullish(),
  enable_source: z.boolean().nullish(),
  enable_citation: z.boolean().nullish(),
  citation_format: z.enum(['[<number>]', '[ref_<number>]']).nullish(),
  prepend_search_result: z.boolean().nullish(),
  freshness: z.literal([7, 30, 180, 365]).nullish(),
  assigned_site_list: HostNameList.nullish(),
  intention_options: z.object({ prompt_intervene: Hint.nullish() }).nullish(),
});

export type SearchOptionsWire = z.output<typeof SearchOptions>;

/** Ways in which an interface can show the sources of a search. */
export interface SourceReporting {
  readonly reportsSources: boolean;
  readonly isStreamed: boolean;
}

export const getSearchStrategy = ({ search_strategy: name }: SearchOptionsWire): SearchStrategy =>
  STRATEGIES[name ?? 'turbo'];

/** Converts `search_options`, already checked by the schema and the rules, for a request with `enable_search: true`. */
export function decodeSearch(
  options: SearchOptionsWire,
  { reportsSources }: Pick<SourceReporting, 'reportsSources'>,
): SearchToolOptions {
  const strategy = getSearchStrategy(options);
  const hasCitations = reportsSources && options.enable_source === true && options.enable_citation === true;
  const { freshness, assigned_site_list: sites, intention_options: intention } = options;
  return {
    strategy,
    isForced: options.forced_search === true,
    usesDomainProviders: options.enable_search_extension === true,
    ...omitNullish({
      citations: hasCitations ? CITATION_FORMATS[options.citation_format ?? '[<number>]'] : undefined,
      freshnessDays: strategy === 'turbo' ? freshness : undefined,
      sites: strategy === 'turbo' && sites && sites.length > 0 ? sites : undefined,
      hint: intention?.prompt_intervene?.toWellFormed() || undefined,
    }),
  };
}

/**
 * Lists the options that have no effect. An option set to its default is not listed.
 *
 * @param isSearching Whether `enable_search` is on; without it, no option has an effect.
 */
export function listIgnoredSearchOptions(
  options: SearchOptionsWire,
  { isSearching, reportsSources, isStreamed }: SourceReporting & { readonly isSearching: boolean },
): readonly string[] {
  const isTurbo = getSearchStrategy(options) === 'turbo';
  const hasSources = isSearching && reportsSources && options.enable_source === true;
  const hasCitations = hasSources && options.enable_citation === true;
  const candidates: readonly (readonly [name: string, isRequested: boolean, isSupported: boolean])[] = [
    ['forced_search', options.forced_search === true, isSearching],
    ['search_strategy', isDefined(options.search_strategy) && !isTurbo, isSearching],
    ['enable_search_extension', options.enable_search_extension === true, isSearching],
    ['enable_source', options.enable_source === true, hasSources],
    ['enable_citation', options.enable_citation === true, hasCitations],
    ['citation_format', isDefined(options.citation_format), hasCitations],
    ['prepend_search_result', options.prepend_search_result === true, hasSources && isStreamed],
    ['freshness', isDefined(options.freshness), isSearching && isTurbo],
    ['assigned_site_list', Boolean(options.assigned_site_list?.length), isSearching && isTurbo],
    ['intention_options.prompt_intervene', Boolean(options.intention_options?.prompt_intervene), isSearching],
  ];
  return candidates.flatMap(([name, isRequested, isHonored]) =>
    isRequested && !isHonored ? [`search_options.${name}`] : [],
  );
}
