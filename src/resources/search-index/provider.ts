import type { SearchIndex } from './search.ts';

/** The local index as a web search provider. It needs no network and is queried first. */
export interface IndexProvider {
  readonly name: string;
  readonly isOwn: true;
  readonly search: SearchIndex;
}

export const createIndexProvider = (search: SearchIndex): IndexProvider => ({
  name: 'index',
  isOwn: true,
  search,
});
