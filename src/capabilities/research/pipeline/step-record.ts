import { ServiceError } from '../../../core/error.ts';
import type { ResearchSite, ResearchStep } from '../research.ts';

/** One section of a report: its heading, and what is searched for it. */
export interface PlanSection {
  readonly heading: string;
  /** Empty when the plan states no goal. */
  readonly goal: string;
  readonly query: string;
}

export interface Plan {
  readonly title: string;
  readonly sections: readonly PlanSection[];
}

/** Tokens of the model calls of one step. Stored as JSON, so property names must not change. */
export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export const NO_TOKEN_USAGE: TokenUsage = { inputTokens: 0, outputTokens: 0 };

export const addTokenUsage = (one: TokenUsage, other: TokenUsage): TokenUsage => ({
  inputTokens: one.inputTokens + other.inputTokens,
  outputTokens: one.outputTokens + other.outputTokens,
});

/**
 * A statement of a page: one sentence and the following sentences that depend on it, verbatim except for markup. Stored
 * as JSON, so property names must not change.
 */
export interface Note {
  /** Number of the page's site. */
  readonly site: number;
  /** Position among the sentences of the page. */
  readonly at: number;
  readonly sentences: readonly string[];
  /** Index in `contexts` of the same step. */
  readonly context: number;
  /** Relevance to the question, 0 to about 1.5. */
  readonly score: number;
}

/** A sentence of the report without its citation mark, and the number of the site that supports it. Stored as JSON. */
export interface ReportSentence {
  readonly text: string;
  readonly site: number;
}

/** Reason why no further query runs: no query is left, or a budget is used up. */
export type SearchEndReason = 'done' | 'queries' | 'minutes';

/** The state that a step stores for later steps. Stored as JSON, so property names must not change. */
export type StepRecord =
  | { readonly type: 'plan'; readonly plan: Plan; readonly spent: TokenUsage }
  | {
      readonly type: 'query';
      readonly id: number;
      /** Position of the section in the plan. */
      readonly section: number;
      readonly query: string;
      /** No search provider answered. */
      readonly isFailed: boolean;
      /** Sites that no earlier query found. */
      readonly sites: readonly ResearchSite[];
      /** URLs of requested pages. */
      readonly pages: readonly string[];
      /** URLs of the requested pages that could not be read. */
      readonly unread: readonly string[];
      readonly contexts: readonly string[];
      readonly notes: readonly Note[];
    }
  | { readonly type: 'opening'; readonly searchEnd: SearchEndReason; readonly tokens: number }
  | {
      readonly type: 'paragraph';
      /** Position in the plan. The number of sections stands for the section of further findings. */
      readonly section: number;
      /** Empty when the model's paragraph was unusable. */
      readonly sentences: readonly ReportSentence[];
      /** Ids of the notes that the paragraph uses. */
      readonly used: readonly number[];
      /** Ids of the notes that the model was shown. */
      readonly shown: readonly number[];
      readonly tokens: number;
      readonly spent: TokenUsage;
      /** The model call failed. */
      readonly isFailed: boolean;
    }
  | { readonly type: 'end'; readonly reason: 'stop' | 'length' };

/** @throws ServiceError `internal` for a stored step that this version cannot read. */
export function parseStepRecord({ state }: ResearchStep): StepRecord {
  if (!isStepRecord(state)) throw new ServiceError('internal', 'A stored research step cannot be read.');
  return state;
}

/** Checks only the type: the pipeline itself stored the record. */
const isStepRecord = (keep: unknown): keep is StepRecord =>
  typeof keep === 'object' &&
  keep !== null &&
  'type' in keep &&
  typeof keep.type === 'string' &&
  RECORD_TYPES.has(keep.type);

const RECORD_TYPES: ReadonlySet<string> = new Set([
  'plan',
  'query',
  'opening',
  'paragraph',
  'end',
] satisfies StepRecord['type'][]);
