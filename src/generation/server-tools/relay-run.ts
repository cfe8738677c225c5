import type { FinishReason, GenerationEvent } from '../../core/event.ts';
import type { Message, ToolCall } from '../../core/message.ts';
import type { ServerCallResult } from '../../core/server-tools.ts';
import type { CitationFilter } from '../citations/citation-filter.ts';
import type { Generation } from '../generation.ts';
import type { CodeSession } from './code-session.ts';
import { parseProgram } from './code-tool.ts';
import type { EventBatch, AnswerSession } from './answer-session.ts';

/** Code session, and the name of the tool that calls it. */
export interface CodeCallTarget {
  readonly session: CodeSession;
  readonly name: string;
  /** The caller has no tools: a call by another name, such as `python`, can only mean a program. */
  readonly isOnlyTool: boolean;
}

export interface RelayOptions {
  readonly code: CodeCallTarget | undefined;
  /** Undefined when nothing was searched. */
  readonly citationFilter: CitationFilter | undefined;
}

/** Result of a model run that produced part of the answer. */
export interface RelayResult {
  /** End of the first choice; undefined when the choice ends were relayed. */
  readonly end: { readonly reason: FinishReason; readonly stop?: string } | undefined;
  /** The model's output as a message. */
  readonly assistantMessage: Message;
  /** Calls of programs, with their results. */
  readonly calls: readonly { readonly call: ToolCall; readonly result: ServerCallResult & { readonly type: 'code' } }[];
  /** The model also called a tool of the caller. */
  readonly callsCallerTool: boolean;
  /** `answerTokens` excludes reasoning, `total` includes it. */
  readonly tokens: { readonly answerTokens: number; readonly total: number };
}

type BlockStart = Extract<GenerationEvent, { type: 'block-start' }>;

/**
 * Relays a run's events with the answer's block indexes. Calls of programs are executed in place and appear as server
 * calls. The run's `end` is not relayed, and with a code session neither is `choice-end`.
 */
export async function* relayRun(
  answer: AnswerSession,
  { batches }: Generation,
  { code, citationFilter }: RelayOptions,
): AsyncGenerator<EventBatch, RelayResult> {
  /** Index of the open block by choice. */
  const openBlockIndexes = new Map<number, number>();
  const calls: { call: ToolCall; result: ServerCallResult & { readonly type: 'code' } }[] = [];
  const textPieces: string[] = [];
  const reasoningPieces: string[] = [];
  let openBlock: BlockStart['block'] | undefined;
  let programCall: { readonly id: string; readonly pieces: string[] } | undefined;
  let incompleteCall: ToolCall | undefined;
  let callsCaller = false;
  let end: RelayResult['end'];
  let tokens = { answerTokens: 0, total: 0 };
  /** Tokens of program calls, added to the next delta. */
  let programTokens = 0;

  const assignIndex = (
    event: Extract<GenerationEvent, { type: 'block-start' | 'block-delta' | 'block-end' }>,
  ): GenerationEvent => {
    if (event.type === 'block-start') openBlockIndexes.set(event.choice, answer.nextBlockIndex(event.choice));
    const index = openBlockIndexes.get(event.choice) ?? 0;
    if (event.type !== 'block-delta' || programTokens === 0) return { ...event, index };
    const tokens = (event.tokens ?? 0) + programTokens;
    programTokens = 0;
    return { ...event, index, tokens };
  };
  const addCitations = (event: GenerationEvent): readonly GenerationEvent[] => citationFilter?.push(event) ?? [event];

  async function* runCall(call: ToolCall): AsyncGenerator<EventBatch> {
    const programRun = code?.session.run(parseProgram(call.arguments), (result) => void calls.push({ call, result }));
    if (programRun) yield* programRun;
  }

  for await (const batch of batches) {
    let output: GenerationEvent[] = [];
    for (const event of batch) {
      switch (event.type) {
        case 'start':
          if (!answer.hasStarted()) yield answer.prependStart([], event.inputTokens);
          break;
        case 'prompt':
          output.push(event);
          break;
        case 'block-start':
          openBlock = event.block;
          if (openBlock.type === 'tool-call' && code && (code.isOnlyTool || code.name === openBlock.name))
            programCall = { id: openBlock.id, pieces: [] };
          else {
            callsCaller ||= openBlock.type === 'tool-call';
            output.push(...addCitations(assignIndex(event)));
          }
          break;
        case 'block-delta':
          if (programCall) {
            programCall.pieces.push(event.text);
            programTokens += event.tokens ?? 0;
            break;
          }
          if (openBlock?.type === 'text') textPieces.push(event.text);
          if (openBlock?.type === 'reasoning') reasoningPieces.push(event.text);
          output.push(...addCitations(assignIndex(event)));
          break;
        case 'block-end':
          if (programCall && code) {
            if (output.length > 0) yield output;
            output = [];
            const call = { id: programCall.id, name: code.name, arguments: programCall.pieces.join('') };
            programCall = undefined;
            if (isComplete(call.arguments)) yield* runCall(call);
            else incompleteCall = call;
            break;
          }
          output.push(...addCitations(assignIndex(event)));
          break;
        case 'choice-end':
          // A call cut by a token limit is dropped; any other incomplete call becomes a failed call.
          if (incompleteCall && event.reason !== 'length') {
            if (output.length > 0) yield output;
            output = [];
            yield* runCall(incompleteCall);
          }
          if (code) end = event;
          else output.push(event);
          break;
        case 'end':
          answer.addUsage(event.usage);
          tokens = {
            answerTokens: event.usage.completionTokens - (event.usage.reasoningTokens ?? 0),
            total: event.usage.completionTokens,
          };
          break;
        case 'server-call':
        case 'server-result':
          break;
      }
    }
    if (output.length > 0) yield output;
  }
  return {
    end,
    assistantMessage: createAssistantMessage(
      textPieces,
      reasoningPieces,
      calls.map(({ call }) => call),
    ),
    calls,
    callsCallerTool: callsCaller,
    tokens,
  };
}

/** An unclosed object was cut. Text that is no object is left to the program parser. */
const isComplete = (argumentsText: string): boolean => {
  const text = argumentsText.trim();
  return !text.startsWith('{') || text.endsWith('}');
};

const createAssistantMessage = (
  textPieces: readonly string[],
  reasoningPieces: readonly string[],
  toolCalls: readonly ToolCall[],
): Message => ({
  role: 'assistant',
  content: textPieces.length === 0 ? [] : [{ type: 'text', text: textPieces.join('') }],
  ...(reasoningPieces.length === 0 ? {} : { reasoning: reasoningPieces.join('') }),
  ...(toolCalls.length === 0 ? {} : { toolCalls }),
});
