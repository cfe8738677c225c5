import { ServiceError } from '../../core/error.ts';
import { PROGRAM_TOLD_CHARS_MAX, PROGRAM_TOLD_CHARS_MIN } from '../../core/limits.ts';
import type { Message, Tool } from '../../core/message.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { Generation } from '../generation.ts';
import { withResultsTold } from '../repeated-calls.ts';
import type { WithCitations } from '../citations/with-citations.ts';
import type { CodeSession } from './code-session.ts';
import { toldResult, withCodeTool } from './code-tool.ts';
import { tellRun } from './tell-run.ts';
import type { Told } from './tell-run.ts';
import type { Batch, Turn } from './turn.ts';

interface Needs {
  /** Started, with the tool offered. */
  readonly first: Generation;
  /** What it was started with, but for our tool. */
  readonly request: GenerationRequest;
  readonly session: CodeSession;
  readonly tool: Tool;
  /** The model would go on calling: once a program has come to its end, none is offered any more. */
  readonly repeatsCalls: boolean;
  readonly citing: WithCitations | undefined;
}

/**
 * Runs of the model until it calls no more programs: what they gave is put to it, and it goes on. At the bound there is a last
 * run that may call none. Ends as usual where it calls a tool of the caller's, and with `length` where the context or the caller's
 * limit is used up.
 */
export async function* answerWithPrograms(
  turn: Turn,
  { first, request, session, tool, repeatsCalls, citing }: Needs,
): AsyncGenerator<Batch> {
  const code = { session, name: tool.name };
  let generation: Generation | undefined = first;
  let asked = request;
  let end: NonNullable<Told['end']> = { reason: 'length' };
  while (generation) {
    const told: Told = yield* tellRun(turn, generation, { code, citing });
    if (told.end) ({ end } = told);
    if (told.calls.length === 0 || told.callsCaller || told.end?.reason !== 'tool-calls') break;
    const limits = lessSpent(asked, told.spent);
    end = { reason: 'length' };
    if (!limits) break;
    const { maxTokens: _tokens, maxTotalTokens: _total, ...plain } = asked;
    ({ generation, asked } = await goOn(turn, { ...plain, ...limits }, told, { session, tool, repeatsCalls }));
  }
  turn.over();
  yield [
    { type: 'choice-end', choice: 0, reason: end.reason, ...(end.stop === undefined ? {} : { stop: end.stop }) },
    { type: 'end', usage: turn.usage() },
  ];
}

/** @returns no generation where the context has no room for what the programs gave. */
async function goOn(
  turn: Turn,
  request: GenerationRequest,
  told: Told,
  { session, tool, repeatsCalls }: Pick<Needs, 'session' | 'tool' | 'repeatsCalls'>,
): Promise<{ readonly generation: Generation | undefined; readonly asked: GenerationRequest }> {
  const { toolUse: _, ...plain } = request;
  const hasResult = told.calls.some(({ result }) => result.output && !result.output.error);
  const isOffered = session.hasUses() && !(repeatsCalls && hasResult);
  for (const charactersMax of [PROGRAM_TOLD_CHARS_MAX, PROGRAM_TOLD_CHARS_MIN]) {
    const asked = { ...request, messages: continued(request.messages, told, charactersMax) };
    const toolUse = isOffered ? withCodeTool(request.toolUse, tool) : request.toolUse;
    // With no tool left to call, calls in the conversation would only be imitated.
    const messages = toolUse ? asked.messages : withResultsTold(asked.messages);
    try {
      return { generation: await turn.run({ ...plain, messages, ...(toolUse ? { toolUse } : {}) }), asked };
    } catch (error) {
      if (!(error instanceof ServiceError) || error.kind !== 'context-exceeded') throw error;
    }
  }
  return { generation: undefined, asked: request };
}

/** With what the model said, its calls, and what came of them. */
function continued(messages: readonly Message[], { said, calls }: Told, charactersMax: number): readonly Message[] {
  const last = messages.at(-1);
  const results = calls.map(({ call, result }): Message => ({
    role: 'tool',
    content: [{ type: 'text', text: toldResult(result, charactersMax) }],
    toolCallId: call.id,
    name: call.name,
  }));
  if (last?.role !== 'assistant' || last.partial !== true) return [...messages, said, ...results];
  const { partial: _, ...begun } = last;
  return [...messages.slice(0, -1), { ...said, ...begun, content: [...begun.content, ...said.content] }, ...results];
}

/** What is left of the caller's limits; undefined where nothing is. */
function lessSpent(
  { maxTokens, maxTotalTokens }: GenerationRequest,
  { answer, total: all }: Told['spent'],
): Pick<GenerationRequest, 'maxTokens' | 'maxTotalTokens'> | undefined {
  const tokens = maxTokens === undefined ? undefined : maxTokens - answer;
  const total = maxTotalTokens === undefined ? undefined : maxTotalTokens - all;
  if ((tokens ?? 1) <= 0 || (total ?? 1) <= 0) return undefined;
  return {
    ...(tokens === undefined ? {} : { maxTokens: tokens }),
    ...(total === undefined ? {} : { maxTotalTokens: total }),
  };
}
