import type { ResearchSite } from '../../core/research.ts';
import { pageOf } from '../server-tools/source-list.ts';
import { NOTHING_SPENT, sumOfSpent } from './kept.ts';
import type { Kept, Note, Plan, SearchEnd, Spent, WrittenSentence } from './kept.ts';

export interface HeldNote extends Omit<Note, 'context'> {
  /** Position among all notes of the run. */
  readonly id: number;
  /** Id of the query that brought it. */
  readonly query: number;
  /** Position in the plan of what it was looked for. */
  readonly section: number;
  /** The paragraph of the source that it stands in. */
  readonly context: string;
}

type Query = Pick<Extract<Kept, { type: 'query' }>, 'id' | 'section' | 'query' | 'isFailed'>;

/** What all steps so far have come to. Everything that is done next follows from it. */
export interface ResearchState {
  readonly plan: Plan | undefined;
  readonly queries: readonly Query[];
  readonly sites: readonly ResearchSite[];
  /** Addresses of pages that were asked for. */
  readonly pages: ReadonlySet<string>;
  /** Those of them that could not be read. */
  readonly unread: ReadonlySet<string>;
  readonly notes: readonly HeldNote[];
  /** Absent: the report has not begun. */
  readonly searchEnd: SearchEnd | undefined;
  /** Of the paragraph written last. */
  readonly section: number;
  readonly sentences: readonly WrittenSentence[];
  /** Numbers of sites, in the order in which the report cites them. */
  readonly cited: readonly number[];
  readonly used: ReadonlySet<number>;
  readonly shown: ReadonlySet<number>;
  /** Of the report so far, and of its current part. */
  readonly tokens: number;
  readonly sectionTokens: number;
  /** Paragraphs that the model could not be asked for. */
  readonly writerFailures: number;
  readonly spent: Spent;
  readonly isEnded: boolean;
}

export const BEGINNING: ResearchState = {
  plan: undefined,
  queries: [],
  sites: [],
  pages: new Set(),
  unread: new Set(),
  notes: [],
  searchEnd: undefined,
  section: 0,
  sentences: [],
  cited: [],
  used: new Set(),
  shown: new Set(),
  tokens: 0,
  sectionTokens: 0,
  writerFailures: 0,
  spent: NOTHING_SPENT,
  isEnded: false,
};

export function after(state: ResearchState, kept: Kept): ResearchState {
  switch (kept.type) {
    case 'plan':
      return { ...state, plan: kept.plan, spent: sumOfSpent(state.spent, kept.spent) };
    case 'query':
      return {
        ...state,
        queries: [...state.queries, kept],
        sites: [...state.sites, ...kept.sites],
        pages: state.pages.union(new Set(kept.pages.map(pageOf))),
        unread: state.unread.union(new Set(kept.unread)),
        notes: [
          ...state.notes,
          ...kept.notes.map((note, at) => ({
            ...note,
            id: state.notes.length + at,
            query: kept.id,
            section: kept.section,
            context: kept.contexts[note.context] ?? '',
          })),
        ],
      };
    case 'opening':
      return { ...state, searchEnd: kept.searchEnd, tokens: kept.tokens };
    case 'paragraph': {
      const before = kept.section === state.section ? state.sectionTokens : 0;
      return {
        ...state,
        section: kept.section,
        sentences: [...state.sentences, ...kept.sentences],
        cited: [...new Set([...state.cited, ...kept.sentences.map(({ site }) => site)])],
        used: state.used.union(new Set(kept.used)),
        shown: state.shown.union(new Set(kept.shown)),
        tokens: state.tokens + kept.tokens,
        sectionTokens: before + kept.tokens,
        writerFailures: state.writerFailures + (kept.isFailed ? 1 : 0),
        spent: sumOfSpent(state.spent, kept.spent),
      };
    }
    case 'end':
      return { ...state, isEnded: true };
  }
}
