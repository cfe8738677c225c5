import type { GenerationEvent } from '../../../core/event.ts';
import type { Message } from '../../../core/message.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import type {
  CodeInterpreter,
  CodeOutput,
  DomainFinding,
  ReadPage,
  Search,
  SearchQuery,
  SearchWish,
  ServerTools,
  Source,
} from '../../../core/server-tools.ts';
import type { EngineRequest, TextEngine } from '../../../engines/engine.ts';
import { createScriptedEngine } from '../../../engines/scripted/scripted-engine.ts';
import type { Step } from '../../../engines/scripted/scripted-engine.ts';
import { systemClock } from '../../../lib/clock.ts';
import { createHouse, ENTRY, REQUEST } from '../../__fixtures__/house.ts';
import { createCountPrompt } from '../../count-prompt.ts';
import type { Generation } from '../../generation.ts';
import type { KeepFile, OpenCallerFiles } from '../code-session.ts';
import { createExamine } from '../examine.ts';
import { createGenerateWithServerTools } from '../generate-with-server-tools.ts';

export const SEARCH: SearchWish = { strategy: 'turbo', isForced: false, withDomains: false };

export const say = (role: Message['role'], text: string, more: Partial<Message> = {}): Message => ({
  role,
  content: [{ type: 'text', text }],
  ...more,
});

type Result = Omit<Source, 'index'>;

export const found = (title: string, passage: string, url = `https://example.com/${title.toLowerCase()}`): Result => ({
  title,
  url,
  siteName: '',
  icon: '',
  passage,
});

/** What the model says in each of its runs, in turn: pieces of text, or steps. */
export type Script = readonly (readonly (string | Step)[])[];

export interface HandsOptions {
  readonly script?: Script;
  /** Instead of a script. */
  readonly engine?: TextEngine;
  readonly contextTokens?: number;
  readonly thinking?: 'prompted';
  readonly repeatsCalls?: boolean;
  readonly results?: (query: SearchQuery) => readonly Result[];
  readonly findings?: readonly DomainFinding[];
  readonly search?: Search | undefined;
  readonly readPage?: ReadPage | undefined;
  readonly code?: CodeInterpreter | undefined;
  readonly openCallerFiles?: OpenCallerFiles;
  readonly keepFile?: KeepFile;
}

const OUTPUT: CodeOutput = { stdout: '', stderr: '', files: [], isCut: false };

/** A generation with tools over an engine that plays a script, and a record of all it was asked. */
export function createHands(options: HandsOptions = {}) {
  const { script = [], contextTokens = 8_192, results = () => [], findings = [] } = options;
  const asked: EngineRequest[] = [];
  const queries: SearchQuery[] = [];
  const ended: boolean[] = [];
  const scripted = createScriptedEngine({
    contextTokens,
    script: (request) => {
      asked.push(request);
      return (script[asked.length - 1] ?? []).map((step) =>
        typeof step === 'string' ? { type: 'tokens', tokens: [step] } : step,
      );
    },
    onRunEnd: ({ isCancelled }) => void ended.push(isCancelled),
  });
  const engine = options.engine ?? scripted;
  const abilities = { ...ENTRY.abilities, tools: true, ...(options.thinking ? { thinking: options.thinking } : {}) };
  const { repeatsCalls = false } = options;
  const house = createHouse(engine, { entry: { ...ENTRY, contextTokens, abilities, repeatsCalls } });
  const { catalogue, engineFor } = house.parts;
  const countPrompt = createCountPrompt({ catalogue, engineFor, styleOf: () => ({}) });
  const search: Search = async (query) => {
    queries.push(query);
    return { results: results(query), findings };
  };
  let ids = 0;
  const generate = createGenerateWithServerTools({
    generate: house.parts.generate,
    examine: createExamine({ catalogue, engineFor, countPrompt }),
    search: 'search' in options ? options.search : search,
    readPage: options.readPage,
    code: options.code,
    openCallerFiles: options.openCallerFiles,
    keepFile: options.keepFile,
    clock: { ...systemClock, now: () => Date.UTC(2026, 10, 22) },
    newId: () => `srv_${++ids}`,
  });
  const { context } = house;
  return {
    asked,
    queries,
    /** Of each run of the model that is over: whether it was cancelled. */
    ended,
    books: house.books,
    caller: house.caller,
    /** What the model was given to read, run by run. */
    prompts: () =>
      asked.map(({ input }) => (input.type === 'segments' ? input.segments.map(({ text }) => text).join('') : '')),
    generate: (serverTools: ServerTools | undefined, request: Partial<GenerationRequest> = {}): Promise<Generation> =>
      generate({ ...REQUEST, ...request, ...(serverTools ? { serverTools } : {}) }, { interface: 'chat' }, context),
  };
}

export async function eventsOf({ batches }: Generation): Promise<GenerationEvent[]> {
  const events: GenerationEvent[] = [];
  for await (const batch of batches) events.push(...batch);
  return events;
}

/** One that answers each program by a function, and tells what became of it. */
export function createInterpreter(run: (code: string, signal: AbortSignal) => Promise<Partial<CodeOutput>>) {
  const books = { opened: [] as Parameters<CodeInterpreter['open']>[0][], ran: [] as string[], released: 0 };
  const code: CodeInterpreter = {
    async open(wish) {
      books.opened.push(wish);
      return {
        id: wish.containerId ?? 'box_1',
        async run(program, signal) {
          books.ran.push(program);
          return { ...OUTPUT, ...(await run(program, signal)) };
        },
        release: () => void books.released++,
      };
    },
  };
  return { code, books };
}
