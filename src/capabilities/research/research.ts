import type { RequestContext } from '../../core/context.ts';
import type { Message } from '../../core/message.ts';

/** Length of a report. RESEARCH_REPORT_TOKENS defines it in tokens. */
export const REPORT_SIZES = ['detailed', 'summary'] as const;

export type ReportSize = (typeof REPORT_SIZES)[number];

/** A topic to research, independent of any protocol. */
export interface ResearchRequest {
  /** Model name as the caller wrote it; the catalogue resolves it. */
  readonly model: string;
  /**
   * Alternating user and assistant text, the user last. One message: the model asks a question. More: it writes a
   * report.
   */
  readonly messages: readonly Message[];
  readonly reportSize: ReportSize;
}

/** A page that a search found. Texts are never null and never contain a local path. */
export interface ResearchSite {
  /** From 1, unique in a run. A page found by several queries keeps its number. */
  readonly number: number;
  readonly title: string;
  /** Empty when unknown. */
  readonly description: string;
  /** An http(s) URL, or `parley-index:` for a document of the local index without a URL. */
  readonly url: string;
  /** A URL, or empty. */
  readonly icon: string;
}

/** A source cited by a report. The page was fetched and supports at least one sentence of the report. */
export interface Reference extends Omit<ResearchSite, 'number'> {
  /** From 1, in the order of citation. The report's text contains it as `[[1]]`. */
  readonly index: number;
}

/**
 * Events of a run. A run that asks a question: `question` pieces, then `end`. A run that writes a report: `plan`
 * pieces, `plan-end`, the queries (each with its sites, `learned` sentences and `query-end`), `report` pieces, `end`.
 * `usage` may occur anywhere before `end`. Stored as JSON, so property names must not change.
 */
export type ResearchEvent =
  /** Total tokens of all model calls so far. */
  | { readonly type: 'usage'; readonly inputTokens: number; readonly outputTokens: number }
  /** A piece of the question to the user. */
  | { readonly type: 'question'; readonly text: string }
  /** A piece of the plan, written for people. */
  | { readonly type: 'plan'; readonly text: string }
  | { readonly type: 'plan-end' }
  /** `id` counts from 1. */
  | { readonly type: 'query'; readonly id: number; readonly query: string; readonly goal: string }
  | { readonly type: 'sites'; readonly id: number; readonly sites: readonly ResearchSite[] }
  /** Sentences of a site, verbatim. */
  | { readonly type: 'learned'; readonly id: number; readonly site: number; readonly text: string }
  | { readonly type: 'query-end'; readonly id: number }
  /**
   * A piece of the report, as Markdown. `references`: all sources cited so far, present when one was added. A
   * citation mark never precedes its reference.
   */
  | { readonly type: 'report'; readonly text: string; readonly references?: readonly Reference[] }
  /** The last event, sent once. `length`: a budget ran out before the report reached its length. */
  | { readonly type: 'end'; readonly reason: 'stop' | 'length' };

/**
 * An atomic unit of a run: it either completes or is repeated. Its events and the state for later steps are stored
 * together as JSON.
 */
export interface ResearchStep {
  readonly events: readonly ResearchEvent[];
  /** State for later steps. Only the pipeline interprets it. */
  readonly state: unknown;
}

export interface ResearchPipeline {
  /**
   * Asks the user a question about the topic. Rejects before the first event.
   * @throws ServiceError of any kind that a generation throws; `engine-failed` when the model generated nothing.
   */
  clarify(request: ResearchRequest, context: RequestContext): Promise<AsyncIterable<readonly ResearchEvent[]>>;
  /**
   * Checks whether a run would be accepted now: its model, length and form.
   * @throws ServiceError as a generation does.
   */
  checkRequest(request: ResearchRequest, context: RequestContext): Promise<void>;
  /**
   * Yields the steps after `past`, which holds those of earlier attempts in order. Returns after the step with the
   * event `end`. Events of a step are visible only once the step is yielded, so the caller stores each step before it
   * requests the next.
   */
  run(
    request: ResearchRequest,
    past: readonly ResearchStep[],
    context: ResearchContext,
  ): AsyncGenerator<ResearchStep, void>;
}

export interface ResearchContext extends RequestContext {
  /** UTC milliseconds: when the run started, including earlier attempts. The time budget counts from here. */
  readonly startedAt: number;
}

/** Runs that continue when their client disconnects. */
export interface ResearchRuns {
  /**
   * Starts a run, or attaches to the unfinished run of the same key for an identical request, from its first event.
   * A run without a reader is cancelled after RESEARCH_UNATTENDED_MS_MAX.
   *
   * @param run `fingerprint` identifies a request: two requests are identical when their fingerprints are equal.
   * @throws ServiceError `rate-limited` when the key or its workspace has the maximum number of runs; as
   * `ResearchPipeline.checkRequest` otherwise.
   */
  open(
    run: { readonly request: ResearchRequest; readonly fingerprint: string },
    context: RequestContext,
  ): Promise<AsyncIterable<readonly ResearchEvent[]>>;
}

/** Resources of a run. When one is used up, the report is written from what was found. */
export interface ResearchBudget {
  readonly queries: number;
  readonly pages: number;
  /** All model calls, prompts included. The report may exceed it by one call. */
  readonly tokens: number;
  readonly minutes: number;
}
