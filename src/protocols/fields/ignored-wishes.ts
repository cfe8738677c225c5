import type { ChatFields } from './parameter-schema.ts';

/**
 * Known fields that this version does not honour although they ask for another answer. A field that spells out what
 * happens anyway (`enable_search: false`) is honoured, so it is not named.
 */
export function ignoredWishes(wire: ChatFields): readonly string[] {
  const searches = wire.enable_search === true;
  const options = wire.search_options;
  const wishes: readonly (readonly [string, boolean])[] = [
    ['enable_code_interpreter', wire.enable_code_interpreter === true],
    ['enable_search', searches],
    ['search_options.forced_search', searches && options?.forced_search === true],
    [
      'search_options.search_strategy',
      searches && Boolean(options?.search_strategy) && options?.search_strategy !== 'turbo',
    ],
    ['search_options.enable_search_extension', searches && options?.enable_search_extension === true],
    ['search_options.enable_source', searches && options?.enable_source === true],
    ['search_options.enable_citation', searches && options?.enable_citation === true],
    [
      'search_options.citation_format',
      searches && options?.enable_citation === true && Boolean(options.citation_format),
    ],
    ['search_options.prepend_search_result', searches && options?.prepend_search_result === true],
  ];
  return wishes.filter(([, isWish]) => isWish).map(([name]) => name);
}
