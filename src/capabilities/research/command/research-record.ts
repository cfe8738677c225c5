import type { Reference, ResearchEvent } from '../research.ts';

export interface ResearchQuery {
  readonly id: number;
  readonly query: string;
  readonly goal: string;
}

/** A finished research run, as the report files describe it. */
export interface ResearchRecord {
  readonly question: string;
  /** Clarifying question of the model; `answer` is the reply of the user. */
  readonly clarifyingQuestion: string;
  readonly answer: string;
  readonly model: string;
  /** Start of the run in UTC milliseconds. */
  readonly startedAt: number;
  /** Duration without the wait for the answer. */
  readonly elapsedMs: number;
  readonly queries: readonly ResearchQuery[];
  /** Number of different pages that searches found. */
  readonly pagesFound: number;
  /** Markdown with citation marks like `[[1]]`. */
  readonly report: string;
  readonly references: readonly Reference[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Whether a limit ended the research before the report was complete. */
  readonly isTruncated: boolean;
  /** Language tag of the report for HTML; undefined if the language is unclear. */
  readonly language: string | undefined;
}

export type ResearchOutcome = Pick<
  ResearchRecord,
  'queries' | 'pagesFound' | 'report' | 'references' | 'inputTokens' | 'outputTokens' | 'isTruncated'
> & {
  readonly clarifyingQuestion: string;
  /** Whether the `end` event was received. */
  readonly isComplete: boolean;
};

/** Accumulates the events of a stream. `read` returns the state so far. */
export function createOutcomeBuilder(): { push(event: ResearchEvent): void; read(): ResearchOutcome } {
  const queries: ResearchQuery[] = [];
  const sites = new Set<number>();
  let clarifyingQuestion = '';
  let report = '';
  let references: readonly Reference[] = [];
  let tokens = { inputTokens: 0, outputTokens: 0 };
  let endReason: 'stop' | 'length' | undefined;
  return {
    push(event) {
      switch (event.type) {
        case 'usage':
          tokens = { inputTokens: event.inputTokens, outputTokens: event.outputTokens };
          break;
        case 'question':
          clarifyingQuestion += event.text;
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
          endReason = event.reason;
          break;
        case 'plan':
        case 'plan-end':
        case 'learned':
        case 'query-end':
      }
    },
    read: () => ({
      clarifyingQuestion,
      queries: [...queries],
      pagesFound: sites.size,
      report,
      references,
      ...tokens,
      isTruncated: endReason === 'length',
      isComplete: endReason !== undefined,
    }),
  };
}
