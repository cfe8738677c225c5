import { UPSTREAM_EVENT_CHARS_MAX } from '../limits.ts';
import { createSseParser, type SseFrame } from '../../lib/sse.ts';
import type { ResponseParser } from './response-parser.ts';
import type { UpstreamErrorFactory } from './upstream-error-factory.ts';

/** Result of parsing a piece of a stream. */
export interface ParsedFrames<Event> {
  readonly events: readonly Event[];
  /** A complete event has arrived, even if it carried nothing. */
  readonly hasWholeEvent: boolean;
  /** The end mark has arrived, or output after the complete response; everything after it is ignored. */
  readonly isFinished: boolean;
  /** Failure after `events`: these are still delivered, so that the result does not depend on how the stream is cut. */
  readonly failure?: { readonly thrown: unknown };
}

/** Parses server-sent events and passes them to a `ResponseParser`. */
export interface EventFrameParser<Event> {
  /** @param text A piece of the stream, cut anywhere. */
  push(text: string): ParsedFrames<Event>;
  /** Parses the end of the stream. Some servers omit the end mark, or the empty line after their last event. */
  end(): ParsedFrames<Event>;
}

const END_MARK: SseFrame = { data: '[DONE]' };

/** Some servers put blanks around the mark. The length check is for speed: nearly all events are longer. */
const isEndMark = (data: string): boolean => data.length < 100 && data.trim() === END_MARK.data;

export function createEventFrameParser<Event>(
  responseParser: ResponseParser<Event>,
  errors: UpstreamErrorFactory,
): EventFrameParser<Event> {
  const sseParser = createSseParser({ sizeMax: UPSTREAM_EVENT_CHARS_MAX });
  let isFirst = true;

  const splitFrames = (text: string): readonly SseFrame[] => {
    const rest = isFirst && text.startsWith('\uFEFF') ? text.slice(1) : text;
    isFirst = false;
    try {
      return sseParser.push(rest);
    } catch {
      throw errors.createFailure(`sent an event of more than ${UPSTREAM_EVENT_CHARS_MAX} characters`);
    }
  };

  const parseFrames = (getFrames: () => readonly SseFrame[]): ParsedFrames<Event> => {
    const events: Event[] = [];
    let hasWholeEvent = false;
    const emit = (event: Event): void => void events.push(event);
    try {
      for (const { data } of getFrames()) {
        hasWholeEvent = true;
        if (isEndMark(data)) {
          responseParser.end(emit);
          return { events, hasWholeEvent, isFinished: true };
        }
        responseParser.push(data, emit);
        if (responseParser.isOverrun()) {
          responseParser.end(emit);
          return { events, hasWholeEvent, isFinished: true };
        }
      }
    } catch (thrown) {
      return { events, hasWholeEvent, isFinished: false, failure: { thrown } };
    }
    return { events, hasWholeEvent, isFinished: false };
  };

  return {
    push: (text) => parseFrames(() => splitFrames(text)),
    end: () => parseFrames(() => [...(responseParser.isComplete() ? [] : splitFrames('\n\n')), END_MARK]),
  };
}
