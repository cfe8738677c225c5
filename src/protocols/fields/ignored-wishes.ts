import type { ChatFields } from './parameter-schema.ts';
import { ignoredSearchOptions } from './search-options.ts';
import type { SourcesPlace } from './search-options.ts';

/** Options of a search that changed nothing; whether there was one to be had, generation says. */
export const ignoredWishes = (
  { enable_search: searches, search_options: options }: ChatFields,
  told: SourcesPlace,
): readonly string[] => (options ? ignoredSearchOptions(options, { ...told, isSearching: searches === true }) : []);
