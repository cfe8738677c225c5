import { ServiceError } from '../../core/error.ts';
import type { ResearchSite, ResearchStep } from '../../core/research.ts';

/** One part of a report: what it is headed, and what is looked for. */
export interface PlanSection {
  readonly heading: string;
  /** '' where nothing was said. */
  readonly goal: string;
  readonly query: string;
}

export interface Plan {
  readonly title: string;
  readonly sections: readonly PlanSection[];
}

/** Tokens of the model calls of one step. */
export interface Spent {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export const NOTHING_SPENT: Spent = { inputTokens: 0, outputTokens: 0 };

export const sumOfSpent = (one: Spent, other: Spent): Spent => ({
  inputTokens: one.inputTokens + other.inputTokens,
  outputTokens: one.outputTokens + other.outputTokens,
});

/** What a page says: one sentence, with those behind it that lean on it. Word by word, but for marks of markup. */
export interface Note {
  /** Number of its site. */
  readonly site: number;
  /** Where it stands among the sentences of its page. */
  readonly at: number;
  readonly sentences: readonly string[];
  /** Position in the contexts of its step. */
  readonly context: number;
  /** How well it fits what was looked for, 0 to about 1. */
  readonly score: number;
  /** Its page is about something near the topic. */
  readonly isAside: boolean;
}

/** A sentence of the report as it is told without its mark, and the site that bears it out. */
export interface WrittenSentence {
  readonly text: string;
  readonly site: number;
}

/** Why no further query is asked: nothing is left to ask, or a budget is used up. */
export type SearchEnd = 'done' | 'queries' | 'minutes';

/** What a step leaves for those behind it. */
export type Kept =
  | { readonly type: 'plan'; readonly plan: Plan; readonly spent: Spent }
  | {
      readonly type: 'query';
      readonly id: number;
      /** Position in the plan. */
      readonly section: number;
      readonly query: string;
      /** No provider answered. */
      readonly isFailed: boolean;
      /** Those that no earlier query has found. */
      readonly sites: readonly ResearchSite[];
      /** Addresses of pages that were asked for. */
      readonly pages: readonly string[];
      /** Those of them that could not be read. */
      readonly unread: readonly string[];
      readonly contexts: readonly string[];
      readonly notes: readonly Note[];
    }
  | { readonly type: 'opening'; readonly searchEnd: SearchEnd; readonly tokens: number }
  | {
      readonly type: 'paragraph';
      /** Position in the plan; behind the last one: what fitted no part. */
      readonly section: number;
      /** None: the model's paragraph was no use. */
      readonly sentences: readonly WrittenSentence[];
      /** Notes, by their position among all, that are said now; and those that the model was shown. */
      readonly used: readonly number[];
      readonly shown: readonly number[];
      readonly tokens: number;
      readonly spent: Spent;
      /** The model could not be asked. */
      readonly isFailed: boolean;
    }
  | { readonly type: 'end'; readonly reason: 'stop' | 'length' };

/** @throws ServiceError `internal` for what no step of ours has kept. */
export function keptOf({ keep }: ResearchStep): Kept {
  if (!isKept(keep)) throw new ServiceError('internal', 'A kept step of a research cannot be read.');
  return keep;
}

/** Our own steps come back as they were kept; others' are told by their type. */
const isKept = (keep: unknown): keep is Kept =>
  typeof keep === 'object' && keep !== null && 'type' in keep && typeof keep.type === 'string' && TYPES.has(keep.type);

const TYPES: ReadonlySet<string> = new Set(['plan', 'query', 'opening', 'paragraph', 'end'] satisfies Kept['type'][]);
