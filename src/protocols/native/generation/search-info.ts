import type { DomainResult, ServerCallResult, Source } from '../../../core/server-tools.ts';

/** Collects the search results of one answer for `search_info`, each source once by its index. */
export interface SearchInfoBuilder {
  /** Whether there are results that have not been returned yet. */
  readonly hasNewResults: boolean;
  add(result: ServerCallResult): void;
  /** Returns all results so far as `search_info` (docs/wire/dashscope-native.md#web-search). */
  takeAll(): object;
  /**
   * Returns the same for an event before the answer, without `extra_tool_info` while no domain provider has answered.
   */
  takeForPrependedEvent(): object;
}

/** The `search_info` of events that follow an event with the sources. */
export const EMPTY_SEARCH_INFO = { extra_tool_info: [], search_results: [] };

export function createSearchInfoBuilder(): SearchInfoBuilder {
  const sources = new Map<number, Source>();
  const domainResults: DomainResult[] = [];

  const encodeSources = (): readonly object[] =>
    [...sources.values()]
      .toSorted((a, b) => a.index - b.index)
      .map(({ icon, siteName, index, title, url }) => ({ icon, site_name: siteName, index, title, url }));
  const encodeDomainResults = (): readonly object[] =>
    domainResults.map(({ domain, text }) => ({ result: text, tool: domain }));

  const builder: { -readonly [Name in keyof SearchInfoBuilder]: SearchInfoBuilder[Name] } = {
    hasNewResults: false,
    add(result) {
      if (result.type === 'code') return;
      const newSources = result.type === 'search' ? result.sources : result.source ? [result.source] : [];
      for (const source of newSources) if (!sources.has(source.index)) sources.set(source.index, source);
      const newDomainResults = result.type === 'search' ? result.findings : [];
      domainResults.push(...newDomainResults);
      builder.hasNewResults ||= newSources.length > 0 || newDomainResults.length > 0;
    },
    takeAll() {
      builder.hasNewResults = false;
      return { search_results: encodeSources(), extra_tool_info: encodeDomainResults() };
    },
    takeForPrependedEvent() {
      builder.hasNewResults = false;
      return {
        search_results: encodeSources(),
        ...(domainResults.length > 0 ? { extra_tool_info: encodeDomainResults() } : {}),
      };
    },
  };
  return builder;
}
