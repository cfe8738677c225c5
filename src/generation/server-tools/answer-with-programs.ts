import { ServiceError } from '../../core/error.ts';
import { PROMPT_PROGRAM_OUTPUT_CHARS_MAX, PROMPT_PROGRAM_OUTPUT_CHARS_MIN, PROMPTED_PROGRAMS_MAX } from './limits.ts';
import type { Message, Tool } from '../../core/message.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { CodeOutput } from '../../core/server-tools.ts';
import type { Generation } from '../generation.ts';
import type { CitationFilter } from '../citations/citation-filter.ts';
import type { CodeSession } from './code-session.ts';
import { formatCodeResult } from './code-tool.ts';
import { toModelRequest } from './model-request.ts';
import { inlinePrograms, listPrograms, toProgramRequest } from './prompted-programs.ts';
import { relayRun, type RelayResult } from './relay-run.ts';
import type { EventBatch, AnswerSession } from './answer-session.ts';

interface ProgramLoopOptions {
  /** The first model run, started with the code tool. */
  readonly first: Generation;
  /** The request of the first run, without the code tool. */
  readonly request: GenerationRequest;
  readonly session: CodeSession;
  readonly tool: Tool;
  /** The model tends to repeat calls: the tool is withdrawn once a program has succeeded. */
  readonly repeatsCalls: boolean;
  /** The model does not call tools reliably: after a program that failed, its answer starts as a program. */
  readonly promptsPrograms: boolean;
  readonly citationFilter: CitationFilter | undefined;
}

/**
 * Runs the model until it calls no more programs, adding the results of its calls to the conversation after each run.
 * When the program limit is reached, a last run gets no tool. Ends with `tool-calls` when the model calls a tool of the
 * caller, and with `length` when the context or the caller's token limit is used up.
 */
export async function* answerWithPrograms(
  answer: AnswerSession,
  { first, request, session, tool, repeatsCalls, promptsPrograms, citationFilter }: ProgramLoopOptions,
): AsyncGenerator<EventBatch> {
  const code = { session, name: tool.name, isOnlyTool: request.toolUse === undefined };
  let generation: Generation | undefined = first;
  let currentRequest = request;
  let termination: NonNullable<RelayResult['end']> = { reason: 'length' };
  while (generation) {
    const result: RelayResult = yield* relayRun(answer, generation, { code, citationFilter });
    if (result.end) ({ end: termination } = result);
    if (result.calls.length === 0 || result.callsCallerTool || result.end?.reason !== 'tool-calls') break;
    const limits = getRemainingLimits(currentRequest, result.tokens);
    termination = { reason: 'length' };
    if (!limits) break;
    const { maxTokens: _tokens, maxTotalTokens: _total, ...plain } = currentRequest;
    ({ generation, continuedRequest: currentRequest } = await continueAnswer(answer, { ...plain, ...limits }, result, {
      session,
      tool,
      repeatsCalls,
      promptsPrograms,
    }));
  }
  answer.close();
  yield [
    {
      type: 'choice-end',
      choice: 0,
      reason: termination.reason,
      ...(termination.stop === undefined ? {} : { stop: termination.stop }),
    },
    { type: 'end', usage: answer.usage() },
  ];
}

/** @returns No generation when the context has no capacity for the results. */
async function continueAnswer(
  answer: AnswerSession,
  request: GenerationRequest,
  runResult: RelayResult,
  {
    session,
    tool,
    repeatsCalls,
    promptsPrograms,
  }: Pick<ProgramLoopOptions, 'session' | 'tool' | 'repeatsCalls' | 'promptsPrograms'>,
): Promise<{ readonly generation: Generation | undefined; readonly continuedRequest: GenerationRequest }> {
  const hasResult = runResult.calls.some(({ result }) => result.output && hasOutput(result.output));
  const isWithdrawn = repeatsCalls && hasResult;
  for (const charactersMax of [PROMPT_PROGRAM_OUTPUT_CHARS_MAX, PROMPT_PROGRAM_OUTPUT_CHARS_MIN]) {
    const extended = { ...request, messages: appendResults(request.messages, runResult, charactersMax) };
    const isTriedOften = promptsPrograms && listPrograms(extended.messages).length >= PROMPTED_PROGRAMS_MAX;
    const isLast = isWithdrawn || isTriedOften || !session.hasRunsLeft();
    const modelRequest = isLast
      ? toLastRequest(extended, { mayThink: !isWithdrawn, hasResult })
      : promptsPrograms
        ? toProgramRequest(extended, tool)
        : toModelRequest(extended, tool);
    try {
      return { generation: await answer.runModel(modelRequest), continuedRequest: extended };
    } catch (error) {
      if (!(error instanceof ServiceError) || error.kind !== 'context-exceeded') throw error;
    }
  }
  return { generation: undefined, continuedRequest: request };
}

/** Whether a program completed and returned something: a small model that got nothing must try again. */
const hasOutput = ({ error, stdout, value, files }: CodeOutput): boolean =>
  !error && (stdout.trim() !== '' || value !== undefined || files.length > 0);

/**
 * Creates the request of the last run, which may run no program. Calls in the conversation would lead a model without
 * tools to imitate them, so their results are part of the question. A thought would compute everything again.
 */
function toLastRequest(
  request: GenerationRequest,
  { mayThink, hasResult }: { readonly mayThink: boolean; readonly hasResult: boolean },
): GenerationRequest {
  const { serverTools: _, thinking, ...plain } = request;
  const messages = request.toolUse ? request.messages : inlinePrograms(request.messages);
  const programBlocks = { keepsRest: hasResult };
  return { ...plain, messages, programBlocks, ...(mayThink && thinking ? { thinking } : {}) };
}

/** Appends the assistant message with its calls and their results. */
function appendResults(
  messages: readonly Message[],
  { assistantMessage, calls }: RelayResult,
  charactersMax: number,
): readonly Message[] {
  const last = messages.at(-1);
  const results = calls.map(({ call, result }): Message => ({
    role: 'tool',
    content: [{ type: 'text', text: formatCodeResult(result, charactersMax) }],
    toolCallId: call.id,
    name: call.name,
  }));
  if (last?.role !== 'assistant' || last.partial !== true) return [...messages, assistantMessage, ...results];
  const { partial: _, ...partialMessage } = last;
  return [
    ...messages.slice(0, -1),
    { ...assistantMessage, ...partialMessage, content: [...partialMessage.content, ...assistantMessage.content] },
    ...results,
  ];
}

/** Subtracts used tokens from the caller's limits. Returns undefined when a limit is used up. */
function getRemainingLimits(
  { maxTokens, maxTotalTokens }: GenerationRequest,
  { answerTokens, total: totalTokens }: RelayResult['tokens'],
): Pick<GenerationRequest, 'maxTokens' | 'maxTotalTokens'> | undefined {
  const tokens = maxTokens === undefined ? undefined : maxTokens - answerTokens;
  const total = maxTotalTokens === undefined ? undefined : maxTotalTokens - totalTokens;
  if ((tokens ?? 1) <= 0 || (total ?? 1) <= 0) return undefined;
  return {
    ...(tokens === undefined ? {} : { maxTokens: tokens }),
    ...(total === undefined ? {} : { maxTotalTokens: total }),
  };
}
