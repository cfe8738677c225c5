import type { ScoreRelevance } from '../../../../core/relevance.ts';
import { ServiceError } from '../../../../core/error.ts';
import type {
  Reference,
  ReportSize,
  ResearchBudget,
  ResearchContext,
  ResearchEvent,
  ResearchStep,
} from '../../research.ts';
import type { ReadPage, Search, SearchQuery, Source } from '../../../../core/server-tools.ts';
import { createScriptedEngine } from '../../../../engines/scripted/scripted-engine.ts';
import { createTestGeneration, ENTRY } from '../../../../generation/__fixtures__/test-generation.ts';
import { readVocabulary } from '../../../../generation/citations/claims.ts';
import { createCountPrompt } from '../../../../generation/count-prompt.ts';
import { createExamineRequest } from '../../../../generation/server-tools/examine-request.ts';
import { createTextMessage } from '../../../../generation/server-tools/decision-messages.ts';
import type { Tokenize } from '../../../../generation/tokenize.ts';
import { createResearch } from '../research.ts';
import type { ResearchWriter } from '../research.ts';

export type TestPage = Omit<Source, 'index'>;

export const createTestPage = (title: string, passage: string, url = `https://example.com/${encodeURIComponent(title)}`): TestPage => ({
  title,
  url,
  siteName: '',
  icon: '',
  passage,
});

export interface TestResearchOptions {
  readonly pages?: readonly TestPage[];
  /**
   * Answer of the model to a prompt. 'refused': the engine rejects the call. 'hanging': the model writes one word and
   * hangs.
   */
  readonly answer?: (prompt: string) => string;
  readonly search?: Search;
  readonly readPage?: ReadPage;
  readonly budget?: Partial<ResearchBudget>;
  readonly writer?: ResearchWriter;
  /** Minutes that pass with each read of the clock. */
  readonly minutesPerClockRead?: number;
  readonly tokenize?: Tokenize;
  readonly scoreRelevance?: ScoreRelevance;
}

/** Approximates the token count of prose. */
const estimateTokenPieces: Tokenize = async ({ input }) => {
  const text = input.type === 'text' ? input.text : '';
  const pieces = text.match(/\s?\p{Script=Han}{1,2}|\s?\p{L}{1,6}|\s?\p{N}|\s?[^\s\p{L}\p{N}]+/gu) ?? [];
  return { tokens: pieces.map((piece, id) => ({ id, text: piece, bytes: new Uint8Array() })) };
};

/** Research over in-memory pages and a scripted model. Records prompts, queries and page reads. */
export function createTestResearch(options: TestResearchOptions = {}) {
  const { pages = [], answer = () => 'no', minutesPerClockRead = 0 } = options;
  const prompts: string[] = [];
  const queries: SearchQuery[] = [];
  const read: string[] = [];
  const engine = createScriptedEngine({
    contextTokens: 8_192,
    script: ({ input }) => {
      const prompt = input.type === 'segments' ? input.segments.map(({ text }) => text).join('') : '';
      prompts.push(prompt);
      const text = answer(prompt);
      if (text === 'refused') return [{ type: 'fail', kind: 'overloaded' }];
      if (text === 'hanging') return [{ type: 'tokens', tokens: ['no '] }, { type: 'hang' }];
      return [{ type: 'tokens', tokens: text.match(/\S+\s*|\s+/g) ?? [] }];
    },
  });
  const generation = createTestGeneration(engine, { entry: { ...ENTRY, contextTokens: 8_192 } });
  const { catalogue, acquireEngine, generate } = generation.deps;
  const findPages: Search = async ({ text, resultsMax }) => ({ results: findMatchingPages(pages, text, resultsMax), findings: [] });
  const readWhole: ReadPage = async ({ url }) => {
    const match = pages.find((each) => each.url === url);
    if (!match) throw new ServiceError('not-found', 'No such page.');
    return match;
  };
  let now = 0;
  const research = createResearch({
    generate,
    examine: createExamineRequest({
      catalogue,
      acquireEngine,
      countPrompt: createCountPrompt({ catalogue, acquireEngine, getModelStyle: () => ({}) }),
    }),
    tokenize: options.tokenize ?? estimateTokenPieces,
    search: async (query, signal) => {
      queries.push(query);
      return await (options.search ?? findPages)(query, signal);
    },
    readPage: async (request, signal) => {
      read.push(request.url);
      return await (options.readPage ?? readWhole)(request, signal);
    },
    clock: { now: () => (now += minutesPerClockRead * 60_000) },
    budget: { queries: 10, pages: 20, tokens: 1_000_000, minutes: 30, ...options.budget },
    writer: options.writer ?? 'extractive',
    ...(options.scoreRelevance ? { scoreRelevance: options.scoreRelevance } : {}),
  });
  const context: ResearchContext = { ...generation.context, startedAt: 0 };
  const createRequest = (turns: readonly string[], reportSize: ReportSize) => ({
    model: 'm',
    messages: turns.map((text, at) => createTextMessage(at % 2 === 0 ? 'user' : 'assistant', text)),
    reportSize,
  });
  return {
    prompts,
    queries,
    /** URLs of requested pages. */
    read,
    logFields: generation.records.logFields,
    caller: generation.caller,
    clarify: async (turns: readonly string[]) => await research.clarify(createRequest(turns, 'summary'), context),
    check: (turns: readonly string[]) => research.checkRequest(createRequest(turns, 'summary'), context),
    /** @param stepsMax The run is abandoned after this many steps. */
    async run(
      turns: readonly string[],
      {
        size = 'summary',
        past = [],
        stepsMax = Infinity,
      }: { readonly size?: ReportSize; readonly past?: readonly ResearchStep[]; readonly stepsMax?: number } = {},
    ): Promise<readonly ResearchStep[]> {
      const steps: ResearchStep[] = [];
      for await (const step of research.run(createRequest(turns, size), past, context)) {
        // Stored steps are clones, too.
        steps.push(structuredClone(step));
        if (steps.length >= stepsMax) break;
      }
      return steps;
    },
  };
}

function findMatchingPages(pages: readonly TestPage[], query: string, resultsMax: number): readonly TestPage[] {
  const queryWords = readVocabulary(query).words;
  return pages
    .map((each) => ({ each, common: readVocabulary(`${each.title} ${each.passage}`).words.intersection(queryWords).size }))
    .filter(({ common }) => common > 0)
    // Equal matches are ordered by query, because real searches differ in their order.
    .toSorted((a, b) => b.common - a.common || hash(a.each.title + query) - hash(b.each.title + query))
    .slice(0, resultsMax)
    .map(({ each }) => each);
}

const hash = (text: string): number => [...text].reduce((sum, sign) => (sum * 31 + sign.charCodeAt(0)) % 9_973, 7);

export const listEvents = (steps: readonly ResearchStep[]): readonly ResearchEvent[] => steps.flatMap(({ events }) => events);

/** Collects what a reader of the whole run has received. */
export function collectReport(steps: readonly ResearchStep[]): {
  readonly report: string;
  readonly references: readonly Reference[];
  readonly reason: string | undefined;
} {
  let report = '';
  let references: readonly Reference[] = [];
  let reason: string | undefined;
  for (const event of listEvents(steps)) {
    if (event.type === 'report') {
      report += event.text;
      references = event.references ?? references;
    }
    if (event.type === 'end') ({ reason } = event);
  }
  return { report, references, reason };
}
