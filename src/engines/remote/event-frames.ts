import { UPSTREAM_EVENT_CHARACTERS_MAX } from '../../core/limits.ts';
import { createSseParser } from '../../lib/sse.ts';
import type { SseFrame } from '../../lib/sse.ts';
import type { Answer } from './event-stream.ts';
import type { Faults } from './faults.ts';

/** What a piece of a stream meant. */
export interface Taken<Event> {
  readonly batch: readonly Event[];
  /** The end mark was there; what comes after it is not looked at. */
  readonly isOver: boolean;
  /** What came before it is still told: it must not matter what arrived together. */
  readonly failure?: { readonly thrown: unknown };
}

/** Server-sent events, put to an answer. */
export interface EventFrames<Event> {
  /** @param text A piece of the stream, cut anywhere. */
  push(text: string): Taken<Event>;
  /** The stream is over. Some servers leave out the end mark, or the empty line after their last event. */
  end(): Taken<Event>;
}

const END_MARK: SseFrame = { data: '[DONE]' };

export function createEventFrames<Event>(answer: Answer<Event>, faults: Faults): EventFrames<Event> {
  const parser = createSseParser({ sizeMax: UPSTREAM_EVENT_CHARACTERS_MAX });
  let isFirst = true;

  const framesIn = (text: string): readonly SseFrame[] => {
    const rest = isFirst && text.startsWith('\uFEFF') ? text.slice(1) : text;
    isFirst = false;
    try {
      return parser.push(rest);
    } catch {
      throw faults.failed(`sent an event of more than ${UPSTREAM_EVENT_CHARACTERS_MAX} characters`);
    }
  };

  const take = (framesOf: () => readonly SseFrame[]): Taken<Event> => {
    const batch: Event[] = [];
    const emit = (event: Event): void => void batch.push(event);
    try {
      for (const { data } of framesOf()) {
        if (data === END_MARK.data) {
          answer.end(emit);
          return { batch, isOver: true };
        }
        answer.push(data, emit);
      }
    } catch (thrown) {
      return { batch, isOver: false, failure: { thrown } };
    }
    return { batch, isOver: false };
  };

  return {
    push: (text) => take(() => framesIn(text)),
    end: () => take(() => [...(answer.isComplete() ? [] : framesIn('\n\n')), END_MARK]),
  };
}
