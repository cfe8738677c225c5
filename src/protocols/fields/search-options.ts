import { z } from 'zod';
import { SEARCH_HINT_CODE_POINTS_MAX } from '../../core/limits.ts';
import type { CitationForm, SearchStrategy, SearchWish } from '../../core/server-tools.ts';
import { isPresent, present } from '../../lib/present.ts';
import { HostNames } from './host-name.ts';

/** Names of the wire, with the two that older clients say. */
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
} as const satisfies Record<string, CitationForm>;

const Hint = z.string().refine((text) => Array.from(text).length <= SEARCH_HINT_CODE_POINTS_MAX, {
  message: `must have at most ${SEARCH_HINT_CODE_POINTS_MAX} characters`,
});

/** wire.md 1.5. */
export const SearchOptions = z.object({
  forced_search: z.boolean().nullish(),
  search_strategy: z.enum(['turbo', 'max', 'agent', 'agent_max', 'standard', 'pro']).nullish(),
  enable_search_extension: z.boolean().nullish(),
  enable_source: z.boolean().nullish(),
  enable_citation: z.boolean().nullish(),
  citation_format: z.enum(['[<number>]', '[ref_<number>]']).nullish(),
  prepend_search_result: z.boolean().nullish(),
  freshness: z.literal([7, 30, 180, 365]).nullish(),
  assigned_site_list: HostNames.nullish(),
  intention_options: z.object({ prompt_intervene: Hint.nullish() }).nullish(),
});

export type SearchOptionsWire = z.output<typeof SearchOptions>;

/** An interface whose answers say what they rest on. */
export interface SourcesPlace {
  readonly tellsSources: boolean;
  readonly isStreamed: boolean;
}

export const strategyOf = ({ search_strategy: name }: SearchOptionsWire): SearchStrategy => STRATEGIES[name ?? 'turbo'];

/** What is known of `enable_search: true` and its options. They were checked by the schema and the rules. */
export function decodeSearch(
  options: SearchOptionsWire,
  { tellsSources }: Pick<SourcesPlace, 'tellsSources'>,
): SearchWish {
  const strategy = strategyOf(options);
  const hasCitations = tellsSources && options.enable_source === true && options.enable_citation === true;
  const { freshness, assigned_site_list: sites, intention_options: intention } = options;
  return {
    strategy,
    isForced: options.forced_search === true,
    withDomains: options.enable_search_extension === true,
    ...present({
      citations: hasCitations ? CITATION_FORMATS[options.citation_format ?? '[<number>]'] : undefined,
      freshnessDays: strategy === 'turbo' ? freshness : undefined,
      sites: strategy === 'turbo' && sites && sites.length > 0 ? sites : undefined,
      hint: intention?.prompt_intervene?.toWellFormed() || undefined,
    }),
  };
}

/**
 * Options that ask for something that does not happen. One that spells out what happens anyway is none.
 *
 * @param isSearching `enable_search` is on: without it no option says anything.
 */
export function ignoredSearchOptions(
  options: SearchOptionsWire,
  { isSearching, tellsSources, isStreamed }: SourcesPlace & { readonly isSearching: boolean },
): readonly string[] {
  const isTurbo = strategyOf(options) === 'turbo';
  const hasSources = isSearching && tellsSources && options.enable_source === true;
  const hasCitations = hasSources && options.enable_citation === true;
  const wishes: readonly (readonly [name: string, isAsked: boolean, isHonoured: boolean])[] = [
    ['forced_search', options.forced_search === true, isSearching],
    ['search_strategy', isPresent(options.search_strategy) && !isTurbo, isSearching],
    ['enable_search_extension', options.enable_search_extension === true, isSearching],
    ['enable_source', options.enable_source === true, hasSources],
    ['enable_citation', options.enable_citation === true, hasCitations],
    ['citation_format', isPresent(options.citation_format), hasCitations],
    ['prepend_search_result', options.prepend_search_result === true, hasSources && isStreamed],
    ['freshness', isPresent(options.freshness), isSearching && isTurbo],
    ['assigned_site_list', Boolean(options.assigned_site_list?.length), isSearching && isTurbo],
    ['intention_options.prompt_intervene', Boolean(options.intention_options?.prompt_intervene), isSearching],
  ];
  return wishes.flatMap(([name, isAsked, isHonoured]) => (isAsked && !isHonoured ? [`search_options.${name}`] : []));
}
