import type { SearchIndex } from './search.ts';

/** The local index as one of those that web search asks: it needs no network, and is the first of them. */
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
