import { ServiceError } from '../../core/error.ts';
import type { Block, EngineEvent, GenerationEvent, TokenLogprob } from '../../core/event.ts';
import type { Stage } from './stage.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

/** Brackets an engine's flat events of one choice into blocks, once for all encoders. */
export function createBlocks(choice: number): Stage<ChoiceEvent, GenerationEvent> {
  let index = -1;
  let open: { kind: Block['type']; call?: number } | undefined;
  let isEnded = false;
  /** Tokens that no delta has told of yet. */
  let untold = 0;

  const tell = (text: string, emit: (event: GenerationEvent) => void, logprobs?: readonly TokenLogprob[]): void => {
    const tokens = untold;
    untold = 0;
    emit({
      type: 'block-delta',
      choice,
      index,
      text,
      ...(tokens > 0 ? { tokens } : {}),
      ...(logprobs ? { logprobs } : {}),
    });
  };

  const close = (emit: (event: GenerationEvent) => void): void => {
    if (open) emit({ type: 'block-end', choice, index });
    open = undefined;
  };

  const begin = (block: Block, emit: (event: GenerationEvent) => void, call?: number): void => {
    close(emit);
    index++;
    open = { kind: block.type, ...(call === undefined ? {} : { call }) };
    emit({ type: 'block-start', choice, index, block });
  };

  return {
    push(event, emit) {
      if (isEnded) throw brokenStream('an event after the end of its choice');
      switch (event.type) {
        case 'text':
        case 'reasoning': {
          const logprobs = event.type === 'text' ? event.logprobs : undefined;
          untold += event.tokens;
          if (event.text === '' && !logprobs) return;
          if (open?.kind !== event.type) begin({ type: event.type }, emit);
          tell(event.text, emit, logprobs);
          return;
        }
        case 'tool-call':
          begin({ type: 'tool-call', id: event.id, name: event.name }, emit, event.index);
          return;
        case 'tool-arguments':
          if (open?.kind !== 'tool-call' || open.call !== event.index)
            throw brokenStream('arguments outside their call');
          if (event.text !== '') tell(event.text, emit);
          return;
        case 'choice-end':
          close(emit);
          isEnded = true;
          emit({
            type: 'choice-end',
            choice,
            reason: event.reason,
            ...(event.stop === undefined ? {} : { stop: event.stop }),
          });
      }
    },
    end() {
      if (!isEnded) throw brokenStream('the run ended before its choice');
    },
  };
}

/** What an engine said makes no whole: its fault, never the caller's. */
export const brokenStream = (what: string): ServiceError =>
  new ServiceError('engine-failed', 'The engine failed on this request.', { cause: `broken stream: ${what}` });
