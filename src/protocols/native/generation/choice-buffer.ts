import type { Block, GenerationEvent, TokenLogprob } from '../../../core/event.ts';
import { assert } from '../../../lib/assert.ts';
import type { ChoiceContent, ToolCallOutput } from './output.ts';

type BlockStart = Extract<GenerationEvent, { type: 'block-start' }>;
type Delta = Extract<GenerationEvent, { type: 'block-delta' }>;

/**
 * Content of one choice of a stream: everything so far, or, in an incremental stream, what is new since the last event.
 */
export interface ChoiceBuffer {
  readonly index: number;
  /** Tokens sampled so far. */
  readonly tokens: number;
  /** Number of those tokens that are thinking; undefined without thinking. */
  readonly reasoningTokens: number | undefined;
  startBlock(event: BlockStart): void;
  addDelta(event: Delta): void;
  /** Records programs that the code interpreter runs for this choice. */
  addPrograms(programs: readonly string[]): void;
  /** Whether there is content that `takeContent` has not returned yet. */
  readonly hasNewContent: boolean;
  takeContent(reason: string): ChoiceContent;
}

export function createChoiceBuffer(
  index: number,
  { isIncremental }: { readonly isIncremental: boolean },
): ChoiceBuffer {
  let open: Block['type'] | undefined;
  let text = '';
  let reasoning: string | undefined;
  let calls: ToolCallOutput[] = [];
  let callCount = 0;
  let logprobs: TokenLogprob[] = [];
  let programs: string[] = [];

  const addArguments = (text: string): void => {
    const last = calls.at(-1);
    // Later pieces of a call have no name and an empty id: clients concatenate names and keep the last non-empty id
    // (docs/wire/dashscope-native.md#generation-stream).
    if (!last) calls.push({ index: callCount - 1, id: '', type: 'function', function: { arguments: text } });
    else {
      const { function: lastFunction } = last;
      calls[calls.length - 1] = { ...last, function: { ...lastFunction, arguments: lastFunction.arguments + text } };
    }
  };

  // Fields instead of getters: V8 gives each object literal with a getter its own hidden class, which retains
  // everything
  // that the getter closes over until the next full garbage collection.
  const choice: { -readonly [Name in keyof ChoiceBuffer]: ChoiceBuffer[Name] } = {
    index,
    tokens: 0,
    reasoningTokens: undefined,
    hasNewContent: false,
    startBlock({ block }) {
      open = block.type;
      if (block.type === 'reasoning') {
        reasoning ??= '';
        choice.reasoningTokens ??= 0;
      }
      if (block.type !== 'tool-call') return;
      const { id, name } = block;
      calls.push({ index: callCount++, id, type: 'function', function: { name, arguments: '' } });
      choice.hasNewContent = true;
    },
    addDelta(event) {
      assert(open, 'a delta comes after the start of its block');
      choice.tokens += event.tokens ?? 0;
      if (open === 'reasoning') {
        reasoning = (reasoning ?? '') + event.text;
        choice.reasoningTokens = (choice.reasoningTokens ?? 0) + (event.tokens ?? 0);
      } else if (open === 'text') text += event.text;
      else addArguments(event.text);
      if (event.logprobs) logprobs.push(...event.logprobs);
      choice.hasNewContent ||= event.text !== '' || (event.logprobs?.length ?? 0) > 0;
    },
    addPrograms(newPrograms) {
      programs.push(...newPrograms);
      choice.hasNewContent ||= newPrograms.length > 0;
    },
    takeContent(reason) {
      const content: ChoiceContent = { index, text, reasoning, calls, logprobs, programs, finishReason: reason };
      choice.hasNewContent = false;
      if (isIncremental) {
        text = '';
        reasoning = reasoning === undefined ? undefined : '';
        calls = [];
        logprobs = [];
        programs = [];
      }
      return content;
    },
  };
  return choice;
}
