import type { GenerationEvent } from '../../../core/event.ts';
import type { ModelEntry } from '../../../catalogue/model.ts';
import type { Message } from '../../../core/message.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import type {
  CodeInterpreter,
  CodeOutput,
  DomainResult,
  ReadPage,
  Search,
  SearchQuery,
  SearchToolOptions,
  ServerToolOptions,
  Source,
} from '../../../core/server-tools.ts';
import type { EngineRequest, TextEngine } from '../../../engines/engine.ts';
import { createScriptedEngine, type ScriptStep } from '../../../engines/scripted/scripted-engine.ts';
import { systemClock } from '../../../lib/clock.ts';
import { createTestGeneration, ENTRY, REQUEST } from '../../__fixtures__/test-generation.ts';
import { createCountPrompt } from '../../count-prompt.ts';
import type { OpenRequestImages } from '../../fetch-images.ts';
import type { Generation } from '../../generation.ts';
import type { StoreFile, OpenCallerFiles } from '../code-session.ts';
import { createExamineRequest } from '../examine-request.ts';
import { createGenerateWithServerTools } from '../generate-with-server-tools.ts';

export const SEARCH: SearchToolOptions = { strategy: 'turbo', isForced: false, usesDomainProviders: false };

export const createMessage = (role: Message['role'], text: string, more: Partial<Message> = {}): Message => ({
  role,
  content: [{ type: 'text', text }],
  ...more,
});

type Result = Omit<Source, 'index'>;

export const createSearchResult = (title: string, passage: string, url = `https://example.com/${title.toLowerCase()}`): Result => ({
  title,
  url,
  siteName: '',
  icon: '',
  passage,
});

/** Output of each model run, in order: text pieces or engine steps. */
export type ModelScript = readonly (readonly (string | ScriptStep)[])[];

export interface TestServerToolsOptions {
  readonly script?: ModelScript;
  /** Replaces the scripted engine. */
  readonly engine?: TextEngine;
  readonly contextTokens?: number;
  readonly thinking?: 'prompted';
  readonly repeatsCalls?: boolean;
  readonly results?: (query: SearchQuery) => readonly Result[];
  readonly findings?: readonly DomainResult[];
  readonly search?: Search | undefined;
  /** Whether a search can find anything. Default: true. */
  readonly hasSearchContent?: boolean;
  readonly readPage?: ReadPage | undefined;
  readonly code?: CodeInterpreter | undefined;
  readonly openCallerFiles?: OpenCallerFiles;
  readonly storeFile?: StoreFile;
  readonly openImages?: OpenRequestImages;
  /** Abilities of the model. */
  readonly abilities?: ModelEntry['abilities'];
}

const OUTPUT: CodeOutput = { stdout: '', stderr: '', files: [], isTruncated: false };

/** Generation with server tools over a scripted engine. Records engine requests and queries. */
export function createTestServerTools(options: TestServerToolsOptions = {}) {
  const { script = [], contextTokens = 8_192, results = () => [], findings = [] } = options;
  const engineRequests: EngineRequest[] = [];
  const queries: SearchQuery[] = [];
  const runsCancelled: boolean[] = [];
  const scripted = createScriptedEngine({
    contextTokens,
    script: (request) => {
      engineRequests.push(request);
      return (script[engineRequests.length - 1] ?? []).map((step) =>
        typeof step === 'string' ? { type: 'tokens', tokens: [step] } : step,
      );
    },
    onRunEnd: ({ isCancelled }) => void runsCancelled.push(isCancelled),
  });
  const engine = options.engine ?? scripted;
  const abilities = options.abilities ?? { ...ENTRY.abilities, tools: true, ...(options.thinking ? { thinking: options.thinking } : {}) };
  const { repeatsCalls = false } = options;
  const generation = createTestGeneration(engine, {
    entry: { ...ENTRY, contextTokens, abilities, repeatsCalls },
    ...(options.openImages ? { openImages: options.openImages } : {}),
  });
  const { catalogue, acquireEngine } = generation.deps;
  const countPrompt = createCountPrompt({ catalogue, acquireEngine, getModelStyle: () => ({}) });
  const search: Search = async (query) => {
    queries.push(query);
    return { results: results(query), findings };
  };
  let ids = 0;
  const run = createGenerateWithServerTools({
    generate: generation.deps.generate,
    examine: createExamineRequest({ catalogue, acquireEngine, countPrompt }),
    search: 'search' in options ? options.search : search,
    hasSearchContent: async () => options.hasSearchContent ?? true,
    readPage: options.readPage,
    code: options.code,
    openCallerFiles: options.openCallerFiles,
    storeFile: options.storeFile,
    clock: { ...systemClock, now: () => Date.UTC(2026, 10, 22) },
    newId: () => `srv_${++ids}`,
  });
  const { context } = generation;
  return {
    run,
    context,
    engineRequests,
    queries,
    /** For each finished model run: whether it was canceled. */
    runsCancelled,
    records: generation.records,
    caller: generation.caller,
    /** Prompt of each model run. */
    prompts: () =>
      engineRequests.map(({ input }) => (input.type === 'segments' ? input.segments.map(({ text }) => text).join('') : '')),
    generate: (serverTools: ServerToolOptions | undefined, request: Partial<GenerationRequest> = {}): Promise<Generation> =>
      run({ ...REQUEST, ...request, ...(serverTools ? { serverTools } : {}) }, { interface: 'chat' }, context),
  };
}

export async function collectEvents({ batches }: Generation): Promise<GenerationEvent[]> {
  const events: GenerationEvent[] = [];
  for await (const batch of batches) events.push(...batch);
  return events;
}

/** Code interpreter that computes each program's output with a function, and records its use. */
export function createFakeInterpreter(run: (code: string, signal: AbortSignal) => Promise<Partial<CodeOutput>>) {
  const record = { opened: [] as Parameters<CodeInterpreter['open']>[0][], ran: [] as string[], released: 0 };
  const code: CodeInterpreter = {
    async open(poolRequest) {
      record.opened.push(poolRequest);
      return {
        id: poolRequest.containerId ?? 'box_1',
        async run(program, signal) {
          record.ran.push(program);
          return { ...OUTPUT, ...(await run(program, signal)) };
        },
        release: () => void record.released++,
      };
    },
  };
  return { code, record };
}
