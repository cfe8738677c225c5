import type { Tenant } from '../../core/context.ts';
import type { Tool } from '../../core/message.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../../core/error.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type {
  CodeToolOptions,
  HasSearchContent,
  ReadPage,
  Search,
  ServerToolOptions,
} from '../../core/server-tools.ts';
import type { Clock } from '../../lib/clock.ts';
import { createCitationFilter } from '../citations/citation-filter.ts';
import type { Generate, Generation } from '../generation.ts';
import { answerWithPrograms } from './answer-with-programs.ts';
import { openCodeSession, type CodeSession, type CodeSessionDeps } from './code-session.ts';
import { createCodeTool, addCodeTool } from './code-tool.ts';
import { toModelRequest, findIgnoredServerTools } from './model-request.ts';
import { createDigest } from './conversation-digest.ts';
import type { ExamineRequest, RequestExamination } from './examine-request.ts';
import { gatherMaterial } from './gather-material.ts';
import { getMaterialCharsMax } from './material-budget.ts';
import { addMaterial, type Material } from './source-prompt.ts';
import { needsProgram } from './needs-program.ts';
import { toProgramRequest } from './prompted-programs.ts';
import { relayRun } from './relay-run.ts';
import { ACCEPTANCE_MS_MAX } from './limits.ts';
import { createAnswerSession, type EventBatch, type AnswerSession } from './answer-session.ts';

export interface ServerToolDeps extends CodeSessionDeps {
  readonly generate: Generate;
  readonly examine: ExamineRequest;
  /** Undefined: requests with web search are refused. */
  readonly search: Search | undefined;
  /** A request whose search cannot find anything is answered without it, and the search is reported as ignored. */
  readonly hasSearchContent: HasSearchContent;
  /** Undefined: requests with page reading are refused, and searches that would read pages skip that. */
  readonly readPage: ReadPage | undefined;
  readonly clock: Clock;
  /** Creates the id of a server call. */
  readonly newId: () => string;
}

/**
 * Wraps `generate` for requests whose model may search, read pages and run programs: one stream of several model runs,
 * with the server calls between them. Other requests pass through.
 *
 * Resolves when the engine has accepted the first model run, so that an earlier refusal gets its HTTP status and
 * keep-alives start as for any stream. Later failures end the stream, except failures of tools, which become results.
 *
 * @throws ServiceError as a generation does; `unsupported` for a server tool that is not configured; `invalid-request`
 * for several answers (n) with the code interpreter.
 */
export function createGenerateWithServerTools(deps: ServerToolDeps): Generate {
  const { generate, examine } = deps;
  return async (wholeRequest, on, context) => {
    const { request, ignored: withdrawn } = await withdrawEmptySearch(wholeRequest, context.owner, deps);
    const { serverTools } = request;
    if (!serverTools) {
      const generation = await generate(request, on, context);
      return { ...generation, ignored: [...generation.ignored, ...withdrawn] };
    }
    checkToolsAvailable(serverTools, request, deps);
    const answer = createAnswerSession({ ...deps, request, on, context });
    try {
      const tool = serverTools.code ? createCodeTool(request.toolUse?.tools ?? []) : undefined;
      const examination = await examine(toModelRequest(request, tool), on, answer.context);
      const ignored = [
        ...withdrawn,
        ...examination.ignored,
        ...(ignoresCitations(request) ? ['search_options.enable_citation'] : []),
        ...findIgnoredServerTools(request),
      ];
      const events = runAnswer(answer, examination, deps);
      const first = events.next();
      await Promise.race([first, waitUntilAccepted(answer, examination)]);
      return { batches: createEventStream(first, events, answer), ignored };
    } catch (error) {
      answer.abort();
      throw error;
    }
  };
}

/** Removes the search from a request when it cannot find anything: planning it would only cost model runs. */
async function withdrawEmptySearch(
  request: GenerationRequest,
  tenant: Tenant,
  { search: searchTool, hasSearchContent }: ServerToolDeps,
): Promise<{ readonly request: GenerationRequest; readonly ignored: readonly string[] }> {
  if (!request.serverTools?.search || !searchTool || (await hasSearchContent(tenant))) return { request, ignored: [] };
  const { serverTools, ...plainRequest } = request;
  const { search: _, ...otherTools } = serverTools;
  const hasOtherTools = Object.keys(otherTools).length > 0;
  return {
    request: hasOtherTools ? { ...plainRequest, serverTools: otherTools } : plainRequest,
    ignored: ['enable_search'],
  };
}

/**
 * Waits until a failure no longer needs to change the request: the engine has accepted a model run. A server that
 * cannot count its prompt may still refuse the answer as too long, and the caller then shortens the request, so that
 * server has some more time for the first event.
 */
async function waitUntilAccepted(
  { accepted, context }: AnswerSession,
  { promptTokens }: RequestExamination,
): Promise<void> {
  await accepted;
  if (promptTokens !== undefined) return;
  // An abort ends the events too, so it needs no error here.
  await delay(ACCEPTANCE_MS_MAX, undefined, { signal: context.signal, ref: false }).catch(() => undefined);
}

/** @throws ServiceError when a requested tool is not configured or cannot be combined with the request. */
function checkToolsAvailable(
  { search: searchOptions, pages, code }: ServerToolOptions,
  { choices }: GenerationRequest,
  { search, readPage }: ServerToolDeps,
): void {
  if (searchOptions && !search)
    throw new ServiceError('unsupported', 'Web search is not configured on this server.', { param: 'enable_search' });
  if (pages && !readPage)
    throw new ServiceError('unsupported', 'Page reading is not configured on this server.', { param: 'tools' });
  if (code && choices > 1)
    throw new ServiceError(
      'invalid-request',
      `Range of n should be [1, 1] (n: ${choices}, with the code interpreter)`,
      {
        param: 'n',
      },
    );
}

/** Reports that citation marks are left out: in JSON they would be syntax errors, and number lists look like marks. */
function ignoresCitations({ outputFormat, serverTools }: GenerationRequest): boolean {
  const form = serverTools?.search?.citations;
  return outputFormat !== undefined && form !== undefined && form !== 'attached';
}

async function* runAnswer(
  answer: AnswerSession,
  examination: RequestExamination,
  deps: ServerToolDeps,
): AsyncGenerator<EventBatch, void> {
  const { request } = answer;
  const { search, code } = request.serverTools ?? {};
  const codeSession = code ? await openCodeSessionInTime(answer, code, deps) : undefined;
  const material = yield* gatherMaterial(answer, deps);
  const citationFilter =
    material.isSearched && !request.outputFormat
      ? createCitationFilter(material.sources, search?.citations)
      : undefined;
  const tool = codeSession ? createCodeTool(request.toolUse?.tools ?? []) : undefined;
  const promptsPrograms = canPromptPrograms(request, examination);
  const writesProgram =
    tool !== undefined && promptsPrograms && (await needsProgram(answer, createDigest(request.messages)));
  const { generation, answerRequest } = await startAnswer(answer, {
    material,
    examined: examination,
    tool,
    writesProgram,
  });
  if (codeSession && tool && addCodeTool(request.toolUse, tool)) {
    const { repeatsCalls } = examination;
    yield* answerWithPrograms(answer, {
      first: generation,
      request: answerRequest,
      session: codeSession,
      tool,
      repeatsCalls,
      promptsPrograms,
      citationFilter,
    });
    return;
  }
  yield* relayRun(answer, generation, { code: undefined, citationFilter });
  answer.close();
  yield [{ type: 'end', usage: answer.usage() }];
}

/**
 * Whether programs are requested by the prompt and not only offered as a tool: for models that call tools unreliably, where
 * Parley renders the prompt and no tool of the caller, form or started answer is in the way.
 */
const canPromptPrograms = (
  { toolUse, outputFormat, messages }: GenerationRequest,
  { repeatsCalls, promptTokens }: RequestExamination,
): boolean =>
  repeatsCalls && promptTokens !== undefined && !toolUse && !outputFormat && messages.at(-1)?.role === 'user';

/** Opens the code session; a container that takes long to open does not delay the head of the stream. */
async function openCodeSessionInTime(
  answer: AnswerSession,
  options: CodeToolOptions,
  deps: CodeSessionDeps,
): Promise<CodeSession> {
  const timer = setTimeout(answer.accept, ACCEPTANCE_MS_MAX);
  try {
    return await openCodeSession(answer, options, deps);
  } finally {
    clearTimeout(timer);
  }
}

interface AnswerStart {
  readonly material: Material;
  readonly examined: RequestExamination;
  readonly tool: Tool | undefined;
  /** The answer starts as a program. */
  readonly writesProgram: boolean;
}

/** Starts the answer with as much material as fits: added material must never make a request exceed the context. */
async function startAnswer(
  answer: AnswerSession,
  { material, examined, tool, writesProgram }: AnswerStart,
): Promise<{ readonly generation: Generation; readonly answerRequest: GenerationRequest }> {
  const { request } = answer;
  const { question } = createDigest(request.messages);
  const form = request.outputFormat ? undefined : request.serverTools?.search?.citations;
  const sample = material.sources.map(({ passage }) => passage.slice(0, SAMPLE_CHARS)).join('');
  let charactersMax = material.isSearched ? getMaterialCharsMax(request, examined, sample) : 0;
  for (;;) {
    const messages = addMaterial(request.messages, material, { question, form, charactersMax });
    const answerRequest = { ...request, messages };
    try {
      const modelRequest =
        tool && writesProgram ? toProgramRequest(answerRequest, tool) : toModelRequest(answerRequest, tool);
      return { generation: await answer.runModel(modelRequest), answerRequest };
    } catch (error) {
      const isTooLong = error instanceof ServiceError && error.kind === 'context-exceeded';
      if (!isTooLong || charactersMax === 0) throw error;
      charactersMax = charactersMax < MATERIAL_CHARS_MIN ? 0 : Math.floor(charactersMax / 2);
    }
  }
}

const SAMPLE_CHARS = 200;

/** Below this capacity, no material is added. */
const MATERIAL_CHARS_MIN = 600;

/** Iterates by hand: `return` must abort at once, even while `next` is pending or before the first `next`. */
const createEventStream = (
  first: Promise<IteratorResult<EventBatch, void>>,
  events: AsyncGenerator<EventBatch, void>,
  answer: AnswerSession,
): Generation['batches'] => {
  // A reader that leaves before its first `next` never awaits it.
  first.catch(() => answer.abort());
  return {
    [Symbol.asyncIterator]() {
      let pending: typeof first | undefined = first;
      return {
        async next() {
          try {
            const step = await (pending ?? events.next());
            pending = undefined;
            if (step.done === true) answer.close();
            return step.done === true ? { done: true, value: undefined } : step;
          } catch (error) {
            answer.abort();
            throw error;
          }
        },
        async return() {
          answer.abort();
          return { done: true, value: undefined };
        },
      };
    },
  };
};
