import type { ServiceError } from '../../core/error.ts';
import type { Block, ChoiceEvent, GenerationEvent, LateThought, TokenLogprob } from '../../core/event.ts';
import type { Stage } from './stage.ts';
import { createEngineFailedError } from '../../core/generation-errors.ts';

/** Groups the flat engine events of one choice into blocks, so that encoders need not do it. */
export function createBlockStage(choice: number): Stage<ChoiceEvent, GenerationEvent> {
  let index = -1;
  let open: { kind: Block['type']; call?: number } | undefined;
  let isEnded = false;
  /** Tokens that no delta has reported yet. */
  let pendingTokens = 0;

  const emitDelta = (
    text: string,
    emit: (event: GenerationEvent) => void,
    logprobs?: readonly TokenLogprob[],
  ): void => {
    const tokens = pendingTokens;
    pendingTokens = 0;
    emit({
      type: 'block-delta',
      choice,
      index,
      text,
      ...(tokens > 0 ? { tokens } : {}),
      ...(logprobs ? { logprobs } : {}),
    });
  };

  const closeBlock = (emit: (event: GenerationEvent) => void, thought?: LateThought): void => {
    if (open) emit({ type: 'block-end', choice, index, ...(thought ? { thought } : {}) });
    open = undefined;
  };

  const openBlock = (block: Block, emit: (event: GenerationEvent) => void, call?: number): void => {
    closeBlock(emit);
    index++;
    open = { kind: block.type, ...(call === undefined ? {} : { call }) };
    emit({ type: 'block-start', choice, index, block });
  };

  return {
    push(event, emit) {
      if (isEnded) throw createBrokenStreamError('an event follows the end of its choice');
      switch (event.type) {
        case 'text':
        case 'reasoning': {
          const logprobs = event.type === 'text' ? event.logprobs : undefined;
          pendingTokens += event.tokens;
          if (event.type === 'reasoning' && event.takesText) closeBlock(emit, event.takesText);
          if (event.text === '' && !logprobs) return;
          if (open?.kind !== event.type) openBlock({ type: event.type }, emit);
          emitDelta(event.text, emit, logprobs);
          return;
        }
        case 'tool-call':
          openBlock({ type: 'tool-call', id: event.id, name: event.name }, emit, event.index);
          return;
        case 'tool-arguments':
          if (open?.kind !== 'tool-call' || open.call !== event.index)
            throw createBrokenStreamError('arguments do not belong to the open call');
          if (event.text !== '') emitDelta(event.text, emit);
          return;
        case 'choice-end':
          closeBlock(emit);
          isEnded = true;
          emit({
            type: 'choice-end',
            choice,
            reason: event.reason,
            ...(event.stop === undefined ? {} : { stop: event.stop }),
            ...(event.hasUnparsedCall ? { hasUnparsedCall: true } : {}),
          });
      }
    },
    end() {
      if (!isEnded) throw createBrokenStreamError('the run ended before the choice ended');
    },
  };
}

/** Creates the error for events in an invalid order, which is the engine's fault and never the caller's. */
export const createBrokenStreamError = (problem: string): ServiceError =>
  createEngineFailedError(`broken stream: ${problem}`);
