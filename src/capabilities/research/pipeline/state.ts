import type { ResearchSite } from '../research.ts';
import { removeFragment } from '../../../generation/server-tools/source-list.ts';
import { NO_TOKEN_USAGE, addTokenUsage } from './step-record.ts';
import type { StepRecord, Note, Plan, SearchEndReason, TokenUsage, ReportSentence } from './step-record.ts';

export interface CollectedNote extends Omit<Note, 'context'> {
  /** Index among all notes of the run. */
  readonly id: number;
  /** Id of the query that found the note. */
  readonly query: number;
  /** Position in the plan of the section that the query searched for. */
  readonly section: number;
  /** The paragraph of the source that contains the note. */
  readonly context: string;
}

type QueryStatus = Pick<Extract<StepRecord, { type: 'query' }>, 'id' | 'section' | 'query' | 'isFailed'>;

/** State of a run after its steps so far. Determines every later step. */
export interface ResearchState {
  readonly plan: Plan | undefined;
  readonly queries: readonly QueryStatus[];
  readonly sites: readonly ResearchSite[];
  /** URLs of requested pages. */
  readonly pages: ReadonlySet<string>;
  /** URLs of the requested pages that could not be read. */
  readonly unreadPages: ReadonlySet<string>;
  readonly notes: readonly CollectedNote[];
  /** Undefined until the report starts. */
  readonly searchEndReason: SearchEndReason | undefined;
  /** Position in the plan of the section of the last paragraph. */
  readonly section: number;
  readonly sentences: readonly ReportSentence[];
  /** Numbers of sites in order of first citation. */
  readonly citedSites: readonly number[];
  readonly usedNotes: ReadonlySet<number>;
  readonly shownNotes: ReadonlySet<number>;
  /** Tokens of the report so far. */
  readonly tokens: number;
  /** Tokens of the current section so far. */
  readonly sectionTokens: number;
  /** Paragraphs for which the model call failed. */
  readonly writerFailures: number;
  readonly usage: TokenUsage;
  readonly isFinished: boolean;
}

export const INITIAL_STATE: ResearchState = {
  plan: undefined,
  queries: [],
  sites: [],
  pages: new Set(),
  unreadPages: new Set(),
  notes: [],
  searchEndReason: undefined,
  section: 0,
  sentences: [],
  citedSites: [],
  usedNotes: new Set(),
  shownNotes: new Set(),
  tokens: 0,
  sectionTokens: 0,
  writerFailures: 0,
  usage: NO_TOKEN_USAGE,
  isFinished: false,
};

export function applyStep(state: ResearchState, record: StepRecord): ResearchState {
  switch (record.type) {
    case 'plan':
      return { ...state, plan: record.plan, usage: addTokenUsage(state.usage, record.spent) };
    case 'query':
      return {
        ...state,
        queries: [...state.queries, record],
        sites: [...state.sites, ...record.sites],
        pages: state.pages.union(new Set(record.pages.map(removeFragment))),
        unreadPages: state.unreadPages.union(new Set(record.unread)),
        notes: [
          ...state.notes,
          ...record.notes.map((note, at) => ({
            ...note,
            id: state.notes.length + at,
            query: record.id,
            section: record.section,
            context: record.contexts[note.context] ?? '',
          })),
        ],
      };
    case 'opening':
      return { ...state, searchEndReason: record.searchEnd, tokens: record.tokens };
    case 'paragraph': {
      const before = record.section === state.section ? state.sectionTokens : 0;
      return {
        ...state,
        section: record.section,
        sentences: [...state.sentences, ...record.sentences],
        citedSites: [...new Set([...state.citedSites, ...record.sentences.map(({ site }) => site)])],
        usedNotes: state.usedNotes.union(new Set(record.used)),
        shownNotes: state.shownNotes.union(new Set(record.shown)),
        tokens: state.tokens + record.tokens,
        sectionTokens: before + record.tokens,
        writerFailures: state.writerFailures + (record.isFailed ? 1 : 0),
        usage: addTokenUsage(state.usage, record.spent),
      };
    }
    case 'end':
      return { ...state, isFinished: true };
  }
}
