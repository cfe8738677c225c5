import type { FinishReason, GenerationEvent } from '../../core/event.ts';
import type { Message, ToolCall } from '../../core/message.ts';
import type { ServerCallResult } from '../../core/server-tools.ts';
import type { WithCitations } from '../citations/with-citations.ts';
import type { Generation } from '../generation.ts';
import type { CodeSession } from './code-session.ts';
import { programOf } from './code-tool.ts';
import type { Batch, Turn } from './turn.ts';

/** What programs run in, and by which name the model calls it. */
export interface CodeCalls {
  readonly session: CodeSession;
  readonly name: string;
}

export interface TellNeeds {
  readonly code: CodeCalls | undefined;
  /** Absent: nothing was searched. */
  readonly citing: WithCitations | undefined;
}

/** How a run ended of which the answer is made. */
export interface Told {
  /** Of the first choice; undefined where a choice was told to its end. */
  readonly end: { readonly reason: FinishReason; readonly stop?: string } | undefined;
  /** What the model said, as it said it. */
  readonly said: Message;
  /** Programs that it called, and what came of them. */
  readonly calls: readonly { readonly call: ToolCall; readonly result: ServerCallResult & { readonly type: 'code' } }[];
  /** It also called a tool of the caller's. */
  readonly callsCaller: boolean;
  /** Tokens of the answer, and of thought and answer together. */
  readonly spent: { readonly answer: number; readonly total: number };
}

type BlockStart = Extract<GenerationEvent, { type: 'block-start' }>;

/**
 * Tells a run's events in the places that the answer has for them. Calls of programs are not told as such: each is run in its
 * place, and told as work on our side. Neither the run's end nor, where programs may be called, its choice's is told.
 */
export async function* tellRun(
  turn: Turn,
  { batches }: Generation,
  { code, citing }: TellNeeds,
): AsyncGenerator<Batch, Told> {
  /** By choice: the place of the block that is open. */
  const places = new Map<number, number>();
  const calls: { call: ToolCall; result: ServerCallResult & { readonly type: 'code' } }[] = [];
  const said: string[] = [];
  const thought: string[] = [];
  let open: BlockStart['block'] | undefined;
  let program: { readonly id: string; readonly pieces: string[] } | undefined;
  let broken: ToolCall | undefined;
  let callsCaller = false;
  let end: Told['end'];
  let spent = { answer: 0, total: 0 };
  /** Of programs, which no delta tells. */
  let untold = 0;

  const placed = (
    event: Extract<GenerationEvent, { type: 'block-start' | 'block-delta' | 'block-end' }>,
  ): GenerationEvent => {
    if (event.type === 'block-start') places.set(event.choice, turn.place(event.choice));
    const index = places.get(event.choice) ?? 0;
    if (event.type !== 'block-delta' || untold === 0) return { ...event, index };
    const tokens = (event.tokens ?? 0) + untold;
    untold = 0;
    return { ...event, index, tokens };
  };
  const cited = (event: GenerationEvent): readonly GenerationEvent[] => citing?.push(event) ?? [event];

  async function* runCall(call: ToolCall): AsyncGenerator<Batch> {
    const ran = code?.session.run(programOf(call.arguments), (result) => void calls.push({ call, result }));
    if (ran) yield* ran;
  }

  for await (const batch of batches) {
    let out: GenerationEvent[] = [];
    for (const event of batch) {
      switch (event.type) {
        case 'start':
          if (!turn.hasBegun()) yield turn.opened([], event.inputTokens);
          break;
        case 'block-start':
          open = event.block;
          if (open.type === 'tool-call' && code?.name === open.name) program = { id: open.id, pieces: [] };
          else {
            callsCaller ||= open.type === 'tool-call';
            out.push(...cited(placed(event)));
          }
          break;
        case 'block-delta':
          if (program) {
            program.pieces.push(event.text);
            untold += event.tokens ?? 0;
            break;
          }
          if (open?.type === 'text') said.push(event.text);
          if (open?.type === 'reasoning') thought.push(event.text);
          out.push(...cited(placed(event)));
          break;
        case 'block-end':
          if (program && code) {
            if (out.length > 0) yield out;
            out = [];
            const call = { id: program.id, name: code.name, arguments: program.pieces.join('') };
            program = undefined;
            if (isWhole(call.arguments)) yield* runCall(call);
            else broken = call;
            break;
          }
          out.push(...cited(placed(event)));
          break;
        case 'choice-end':
          // What a limit has cut is no program; anything else that holds none is a call that failed.
          if (broken && event.reason !== 'length') {
            if (out.length > 0) yield out;
            out = [];
            yield* runCall(broken);
          }
          if (code) end = event;
          else out.push(event);
          break;
        case 'end':
          turn.add(event.usage);
          spent = {
            answer: event.usage.completionTokens - (event.usage.reasoningTokens ?? 0),
            total: event.usage.completionTokens,
          };
          break;
        case 'server-call':
        case 'server-result':
          break;
      }
    }
    if (out.length > 0) yield out;
  }
  return {
    end,
    said: spoken(
      said,
      thought,
      calls.map(({ call }) => call),
    ),
    calls,
    callsCaller,
    spent,
  };
}

/** An object that is open was cut; what is no object is looked at by whoever reads the program. */
const isWhole = (argumentsText: string): boolean => {
  const text = argumentsText.trim();
  return !text.startsWith('{') || text.endsWith('}');
};

const spoken = (said: readonly string[], thought: readonly string[], toolCalls: readonly ToolCall[]): Message => ({
  role: 'assistant',
  content: said.length === 0 ? [] : [{ type: 'text', text: said.join('') }],
  ...(thought.length === 0 ? {} : { reasoning: thought.join('') }),
  ...(toolCalls.length === 0 ? {} : { toolCalls }),
});
