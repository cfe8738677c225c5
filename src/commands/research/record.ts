import type { Reference, ResearchEvent } from '../../core/research.ts';

export interface ResearchedQuery {
  readonly id: number;
  readonly query: string;
  readonly goal: string;
}

/** A run and what it came to, as files tell it. */
export interface ResearchRecord {
  readonly question: string;
  /** What was asked back, and what was said to it. */
  readonly askedBack: string;
  readonly answer: string;
  readonly model: string;
  /** UTC milliseconds. */
  readonly startedAt: number;
  /** Without the wait for the answer. */
  readonly elapsedMs: number;
  readonly queries: readonly ResearchedQuery[];
  /** Different pages that searches came upon. */
  readonly sitesFound: number;
  /** Markdown with marks like `[[1]]`. */
  readonly report: string;
  readonly references: readonly Reference[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** A budget ended the work before the report had its size. */
  readonly isCutShort: boolean;
  /** Of the report, as HTML names languages; undefined where that is not clear. */
  readonly language: string | undefined;
}

export type ResearchOutcome = Pick<
  ResearchRecord,
  'queries' | 'sitesFound' | 'report' | 'references' | 'inputTokens' | 'outputTokens' | 'isCutShort'
> & {
  readonly askedBack: string;
  /** Whether `end` was told. */
  readonly hasEnded: boolean;
};

/** What the events of one stream come to, so far. */
export function createOutcome(): { push(event: ResearchEvent): void; read(): ResearchOutcome } {
  const queries: ResearchedQuery[] = [];
  const sites = new Set<number>();
  let askedBack = '';
  let report = '';
  let references: readonly Reference[] = [];
  let tokens = { inputTokens: 0, outputTokens: 0 };
  let ending: 'stop' | 'length' | undefined;
  return {
    push(event) {
      switch (event.type) {
        case 'usage':
          tokens = { inputTokens: event.inputTokens, outputTokens: event.outputTokens };
          break;
        case 'question':
          askedBack += event.text;
          break;
        case 'query':
          queries.push({ id: event.id, query: event.query, goal: event.goal });
          break;
        case 'sites':
          for (const { number } of event.sites) sites.add(number);
          break;
        case 'report':
          report += event.text;
          references = event.references ?? references;
          break;
        case 'end':
          ending = event.reason;
          break;
        case 'plan':
        case 'plan-end':
        case 'learned':
        case 'query-end':
      }
    },
    read: () => ({
      askedBack,
      queries: [...queries],
      sitesFound: sites.size,
      report,
      references,
      ...tokens,
      isCutShort: ending === 'length',
      hasEnded: ending !== undefined,
    }),
  };
}
