import type { RequestContext } from './context.ts';
import type { Message } from './message.ts';

/** How long a report is to be: RESEARCH_REPORT_TOKENS says it in tokens. */
export const REPORT_SIZES = ['detailed', 'summary'] as const;

export type ReportSize = (typeof REPORT_SIZES)[number];

/** A topic to be looked into, in no protocol's words. */
export interface ResearchRequest {
  /** As the caller wrote it; the catalogue resolves it. */
  readonly model: string;
  /** User and assistant in turns, text only. One turn: a question is asked back. More, the last one the user's: a report is made. */
  readonly messages: readonly Message[];
  readonly reportSize: ReportSize;
}

/** A page that a search came upon. Texts are never null, and never a path of this machine. */
export interface ResearchSite {
  /** From 1, unique in a run: a page that several queries find keeps it. */
  readonly number: number;
  readonly title: string;
  /** '' where nobody knows. */
  readonly description: string;
  /** http(s), or `parley-index:` where a document of the local index has no address. */
  readonly url: string;
  /** '' or an address. */
  readonly icon: string;
}

/** What a report cites: it was really fetched, and at least one of its sentences is borne out by it. */
export interface Reference extends Omit<ResearchSite, 'number'> {
  /** From 1, in the order in which the report cites: the report's text says `[[1]]`. */
  readonly index: number;
}

/**
 * What is told of a run, in order: `question` pieces and `end`; or `plan` pieces and `plan-end`, queries, each with its sites, what
 * was learned from them and its `query-end`, then `report` pieces and `end`. `usage` stands anywhere before `end`.
 */
export type ResearchEvent =
  /** Tokens of all model calls so far. */
  | { readonly type: 'usage'; readonly inputTokens: number; readonly outputTokens: number }
  /** A piece of the question that is asked back. */
  | { readonly type: 'question'; readonly text: string }
  /** A piece of the plan, for people. */
  | { readonly type: 'plan'; readonly text: string }
  | { readonly type: 'plan-end' }
  /** From 1, rising. */
  | { readonly type: 'query'; readonly id: number; readonly query: string; readonly goal: string }
  | { readonly type: 'sites'; readonly id: number; readonly sites: readonly ResearchSite[] }
  /** Sentences of a site, word by word. */
  | { readonly type: 'learned'; readonly id: number; readonly site: number; readonly text: string }
  | { readonly type: 'query-end'; readonly id: number }
  /** A piece of the report, Markdown. `references`: all that it cites so far, where one was added; a mark never comes before its reference. */
  | { readonly type: 'report'; readonly text: string; readonly references?: readonly Reference[] }
  /** Once, the last. `length`: a budget ended the work before the report had its size. */
  | { readonly type: 'end'; readonly reason: 'stop' | 'length' };

/**
 * A piece of work that is done as a whole, or done again: what is told of it and what goes on from it are kept together. Plain
 * JSON.
 */
export interface ResearchStep {
  readonly tell: readonly ResearchEvent[];
  /** What later steps build on; only the pipeline looks inside. */
  readonly keep: unknown;
}

export interface Research {
  /**
   * The question that is asked back. Refusals reject here, before anything is told.
   * @throws ServiceError of any kind a generation refuses with; `engine-failed` where nothing came.
   */
  clarify(request: ResearchRequest, context: RequestContext): Promise<AsyncIterable<readonly ResearchEvent[]>>;
  /** Whether a run would be refused now, for its model, its length or its form. @throws ServiceError as a generation refuses. */
  check(request: ResearchRequest, context: RequestContext): Promise<void>;
  /**
   * The steps behind `past`, which are those of earlier attempts in order; ends behind the step that tells `end`. Nothing of a
   * step is told before it is yielded, so whoever takes them keeps each before the next is asked for.
   */
  run(
    request: ResearchRequest,
    past: readonly ResearchStep[],
    context: ResearchContext,
  ): AsyncGenerator<ResearchStep, void>;
}

export interface ResearchContext extends RequestContext {
  /** UTC milliseconds: since when the run is on, earlier attempts included. Its budget of minutes counts from here. */
  readonly startedAt: number;
}

/** Runs that outlive their connection. */
export interface ResearchRuns {
  /**
   * Begins a run; or goes on with the unfinished one of the same key for an identical request, from its first event.
   * Stopping early leaves it: after RESEARCH_ATTACH_MS without a reader it is cancelled.
   *
   * @param likeness What makes two requests identical, e.g. a digest of what was asked.
   * @throws ServiceError `rate-limited` where the key or its workspace has as many runs as it may; as `Research.check`.
   */
  open(
    wish: { readonly request: ResearchRequest; readonly likeness: string },
    context: RequestContext,
  ): Promise<AsyncIterable<readonly ResearchEvent[]>>;
}

/** What a run may spend; at any of them the report is written from what there is. */
export interface ResearchBudget {
  readonly queries: number;
  readonly pages: number;
  /** Of all model calls, prompts included; the report's last ones may go beyond by one call. */
  readonly tokens: number;
  readonly minutes: number;
}
