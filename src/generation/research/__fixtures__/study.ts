import { ServiceError } from '../../../core/error.ts';
import type {
  Reference,
  ReportSize,
  ResearchBudget,
  ResearchContext,
  ResearchEvent,
  ResearchStep,
} from '../../../core/research.ts';
import type { ReadPage, Search, SearchQuery, Source } from '../../../core/server-tools.ts';
import { createScriptedEngine } from '../../../engines/scripted/scripted-engine.ts';
import { createHouse, ENTRY } from '../../__fixtures__/house.ts';
import { vocabularyOf } from '../../citations/claims.ts';
import { createCountPrompt } from '../../count-prompt.ts';
import { createExamine } from '../../server-tools/examine.ts';
import { says } from '../../server-tools/decision-turns.ts';
import type { Tokenize } from '../../tokenize.ts';
import { createResearch } from '../research.ts';
import type { ResearchWriter } from '../research.ts';

export type Page = Omit<Source, 'index'>;

export const page = (title: string, passage: string, url = `https://example.com/${encodeURIComponent(title)}`): Page => ({
  title,
  url,
  siteName: '',
  icon: '',
  passage,
});

export interface StudyOptions {
  readonly pages?: readonly Page[];
  /** What the model answers to a prompt; 'refused' it does not take, and at 'hanging' it says nothing for ever. */
  readonly answer?: (prompt: string) => string;
  readonly search?: Search;
  readonly readPage?: ReadPage;
  readonly budget?: Partial<ResearchBudget>;
  readonly writer?: ResearchWriter;
  /** Minutes that each look at the clock takes. */
  readonly minutesPerLook?: number;
  readonly tokenize?: Tokenize;
}

/** About what tokenizers make of prose. */
const countRoughly: Tokenize = async ({ input }) => {
  const text = input.type === 'text' ? input.text : '';
  const pieces = text.match(/\s?\p{Script=Han}{1,2}|\s?\p{L}{1,6}|\s?\p{N}|\s?[^\s\p{L}\p{N}]+/gu) ?? [];
  return { tokens: pieces.map((piece, id) => ({ id, text: piece, bytes: new Uint8Array() })) };
};

/** Deep research over texts of a test's own and a model that plays a script, and a record of what was asked. */
export function createStudy(options: StudyOptions = {}) {
  const { pages = [], answer = () => 'no', minutesPerLook = 0 } = options;
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
  const house = createHouse(engine, { entry: { ...ENTRY, contextTokens: 8_192 } });
  const { catalogue, engineFor, generate } = house.parts;
  const findPages: Search = async ({ text, resultsMax }) => ({ results: found(pages, text, resultsMax), findings: [] });
  const readWhole: ReadPage = async ({ url }) => {
    const one = pages.find((each) => each.url === url);
    if (!one) throw new ServiceError('not-found', 'No such page.');
    return one;
  };
  let now = 0;
  const research = createResearch({
    generate,
    examine: createExamine({
      catalogue,
      engineFor,
      countPrompt: createCountPrompt({ catalogue, engineFor, styleOf: () => ({}) }),
    }),
    tokenize: options.tokenize ?? countRoughly,
    search: async (query, signal) => {
      queries.push(query);
      return await (options.search ?? findPages)(query, signal);
    },
    readPage: async (wish, signal) => {
      read.push(wish.url);
      return await (options.readPage ?? readWhole)(wish, signal);
    },
    clock: { now: () => (now += minutesPerLook * 60_000) },
    budget: { queries: 10, pages: 20, tokens: 1_000_000, minutes: 30, ...options.budget },
    writer: options.writer ?? 'extractive',
  });
  const context: ResearchContext = { ...house.context, startedAt: 0 };
  const requestOf = (turns: readonly string[], reportSize: ReportSize) => ({
    model: 'm',
    messages: turns.map((text, at) => says(at % 2 === 0 ? 'user' : 'assistant', text)),
    reportSize,
  });
  return {
    prompts,
    queries,
    /** Addresses that were asked for. */
    read,
    facts: house.books.facts,
    caller: house.caller,
    clarify: async (turns: readonly string[]) => await research.clarify(requestOf(turns, 'summary'), context),
    check: (turns: readonly string[]) => research.check(requestOf(turns, 'summary'), context),
    /** @param stepsMax The run is left behind that many. */
    async run(
      turns: readonly string[],
      {
        size = 'summary',
        past = [],
        stepsMax = Infinity,
      }: { readonly size?: ReportSize; readonly past?: readonly ResearchStep[]; readonly stepsMax?: number } = {},
    ): Promise<readonly ResearchStep[]> {
      const steps: ResearchStep[] = [];
      for await (const step of research.run(requestOf(turns, size), past, context)) {
        // As it comes back from where it is kept.
        steps.push(structuredClone(step));
        if (steps.length >= stepsMax) break;
      }
      return steps;
    },
  };
}

function found(pages: readonly Page[], query: string, resultsMax: number): readonly Page[] {
  const wanted = vocabularyOf(query).words;
  return pages
    .map((each) => ({ each, common: vocabularyOf(`${each.title} ${each.passage}`).words.intersection(wanted).size }))
    .filter(({ common }) => common > 0)
    // Among equals each query has others first, as the places of a real search differ.
    .toSorted((a, b) => b.common - a.common || mixed(a.each.title + query) - mixed(b.each.title + query))
    .slice(0, resultsMax)
    .map(({ each }) => each);
}

const mixed = (text: string): number => [...text].reduce((sum, sign) => (sum * 31 + sign.charCodeAt(0)) % 9_973, 7);

export const told = (steps: readonly ResearchStep[]): readonly ResearchEvent[] => steps.flatMap(({ tell }) => tell);

/** What a reader has of a run in the end. */
export function reportOf(steps: readonly ResearchStep[]): {
  readonly report: string;
  readonly references: readonly Reference[];
  readonly reason: string | undefined;
} {
  let report = '';
  let references: readonly Reference[] = [];
  let reason: string | undefined;
  for (const event of told(steps)) {
    if (event.type === 'report') {
      report += event.text;
      references = event.references ?? references;
    }
    if (event.type === 'end') ({ reason } = event);
  }
  return { report, references, reason };
}
