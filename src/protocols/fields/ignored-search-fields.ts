import type { ChatFields } from './parameter-schema.ts';
import { listIgnoredSearchOptions, type SourceReporting } from './search-options.ts';

/** Lists search options without effect. An ignored `enable_search` itself is reported by generation. */
export const listIgnoredSearchFields = (
  { enable_search: isSearchEnabled, search_options: options }: ChatFields,
  reporting: SourceReporting,
): readonly string[] =>
  options ? listIgnoredSearchOptions(options, { ...reporting, isSearching: isSearchEnabled === true }) : [];
