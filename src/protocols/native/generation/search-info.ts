import type { DomainFinding, ServerCallResult, Source } from '../../../core/server-tools.ts';

/** What searches and pages of one answer found so far: each source once, by its index. */
export interface Findings {
  /** There is something that was not told yet. */
  readonly isNew: boolean;
  add(result: ServerCallResult): void;
  /** `search_info` of wire.md 1.5, all so far. */
  take(): object;
  /** The same for an event before the answer: with what providers of a domain say only where they say something. */
  takeBefore(): object;
}

/** What an event says behind the one that told the sources. */
export const NO_SEARCH_INFO = { extra_tool_info: [], search_results: [] };

export function createFindings(): Findings {
  const sources = new Map<number, Source>();
  const said: DomainFinding[] = [];

  const results = (): readonly object[] =>
    [...sources.values()]
      .toSorted((a, b) => a.index - b.index)
      .map(({ icon, siteName, index, title, url }) => ({ icon, site_name: siteName, index, title, url }));
  const toolInfo = (): readonly object[] => said.map(({ domain, text }) => ({ result: text, tool: domain }));

  const findings: { -readonly [Name in keyof Findings]: Findings[Name] } = {
    isNew: false,
    add(result) {
      if (result.type === 'code') return;
      const found = result.type === 'search' ? result.sources : result.source ? [result.source] : [];
      for (const source of found) if (!sources.has(source.index)) sources.set(source.index, source);
      const domains = result.type === 'search' ? result.findings : [];
      said.push(...domains);
      findings.isNew ||= found.length > 0 || domains.length > 0;
    },
    take() {
      findings.isNew = false;
      return { search_results: results(), extra_tool_info: toolInfo() };
    },
    takeBefore() {
      findings.isNew = false;
      return { search_results: results(), ...(said.length > 0 ? { extra_tool_info: toolInfo() } : {}) };
    },
  };
  return findings;
}
