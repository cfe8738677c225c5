import type { Block, GenerationEvent, TokenLogprob } from '../../../core/event.ts';
import { assert } from '../../../lib/assert.ts';
import type { Said, SaidCall } from './output.ts';

type Started = Extract<GenerationEvent, { type: 'block-start' }>;
type Delta = Extract<GenerationEvent, { type: 'block-delta' }>;

/** What one choice of a stream has to say: all so far, or what is new since it was taken last. */
export interface ChoiceSoFar {
  readonly index: number;
  /** Sampled tokens so far. */
  readonly tokens: number;
  /** Of these, tokens of thoughts; undefined when nothing was thought. */
  readonly thoughtTokens: number | undefined;
  begin(event: Started): void;
  add(event: Delta): void;
  /** Programs that are run for it. */
  run(programs: readonly string[]): void;
  /** There is something that was not taken yet. */
  readonly isNew: boolean;
  take(reason: string): Said;
}

export function createChoiceSoFar(index: number, { isIncremental }: { readonly isIncremental: boolean }): ChoiceSoFar {
  let open: Block['type'] | undefined;
  let text = '';
  let thought: string | undefined;
  let calls: SaidCall[] = [];
  let callCount = 0;
  let logprobs: TokenLogprob[] = [];
  let programs: string[] = [];

  const addArguments = (more: string): void => {
    const last = calls.at(-1);
    // What comes after the call's first piece has neither name nor id: clients add up names, and take the last id that
    // is not empty (wire.md 1.4).
    if (!last) calls.push({ index: callCount - 1, id: '', type: 'function', function: { arguments: more } });
    else {
      const { function: called } = last;
      calls[calls.length - 1] = { ...last, function: { ...called, arguments: called.arguments + more } };
    }
  };

  // Fields, not getters: an object literal with a getter gets a hidden class of its own each time it is made, which keeps
  // all that the getter sees until the next full collection.
  const choice: { -readonly [Name in keyof ChoiceSoFar]: ChoiceSoFar[Name] } = {
    index,
    tokens: 0,
    thoughtTokens: undefined,
    isNew: false,
    begin({ block }) {
      open = block.type;
      if (block.type === 'reasoning') {
        thought ??= '';
        choice.thoughtTokens ??= 0;
      }
      if (block.type !== 'tool-call') return;
      const { id, name } = block;
      calls.push({ index: callCount++, id, type: 'function', function: { name, arguments: '' } });
      choice.isNew = true;
    },
    add(event) {
      assert(open, 'a delta comes after the start of its block');
      choice.tokens += event.tokens ?? 0;
      if (open === 'reasoning') {
        thought = (thought ?? '') + event.text;
        choice.thoughtTokens = (choice.thoughtTokens ?? 0) + (event.tokens ?? 0);
      } else if (open === 'text') text += event.text;
      else addArguments(event.text);
      if (event.logprobs) logprobs.push(...event.logprobs);
      choice.isNew ||= event.text !== '' || (event.logprobs?.length ?? 0) > 0;
    },
    run(more) {
      programs.push(...more);
      choice.isNew ||= more.length > 0;
    },
    take(reason) {
      const said: Said = { index, text, thought, calls, logprobs, programs, reason };
      choice.isNew = false;
      if (isIncremental) {
        text = '';
        thought = thought === undefined ? undefined : '';
        calls = [];
        logprobs = [];
        programs = [];
      }
      return said;
    },
  };
  return choice;
}
