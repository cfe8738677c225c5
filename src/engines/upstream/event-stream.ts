import type { IncomingMessage } from 'node:http';
import type { EngineEvent } from '../../core/event.ts';
import { UPSTREAM_EVENT_CHARACTERS_MAX, UPSTREAM_TAIL_MS } from '../../core/limits.ts';
import { createSseParser } from '../../lib/sse.ts';
import type { SseFrame } from '../../lib/sse.ts';
import type { Answer } from './answer.ts';
import type { Call } from './connection.ts';
import type { Faults } from './faults.ts';

export interface EventStreamNeeds {
  readonly answer: Answer;
  readonly idleMs: number;
  readonly faults: Faults;
}

/**
 * The events of a streamed answer; what arrived together is one batch. Leaving early closes the connection at once,
 * which is how the upstream hears of it; a slow reader stops the reading, and with it the upstream.
 */
export async function* eventStream(
  { response, watch, why }: Call,
  { answer, idleMs, faults }: EventStreamNeeds,
): AsyncGenerator<readonly EngineEvent[], void> {
  const frames = createFrames(faults);
  let isSpeaking = false;
  let isOver = false;
  response.setEncoding('utf8');
  try {
    // The connection outlives the loop: after the end mark it is kept for the next request.
    for await (const piece of response.iterator({ destroyOnReturn: false })) {
      if (isSpeaking) watch.rest();
      const taken = take(frames.push(String(piece)), answer);
      ({ isOver } = taken);
      if (taken.batch.length > 0) {
        isSpeaking = true;
        watch.rest();
        yield taken.batch;
      }
      if (taken.failure) throw taken.failure.thrown;
      if (isOver) return;
      if (isSpeaking) watch.begin('the next piece of the answer', idleMs);
    }
    watch.rest();
    // Some servers leave out the end mark, or the empty line after their last event.
    const last = take([...(answer.isComplete() ? [] : frames.push('\n\n')), END_MARK], answer);
    ({ isOver } = last);
    if (last.batch.length > 0) yield last.batch;
    if (last.failure) throw last.failure.thrown;
  } catch (thrown) {
    throw why(thrown);
  } finally {
    watch.rest();
    if (isOver) drain(response);
    else response.destroy();
  }
}

const END_MARK: SseFrame = { data: '[DONE]' };

interface Taken {
  readonly batch: readonly EngineEvent[];
  /** The end mark was there; what comes after it is not looked at. */
  readonly isOver: boolean;
  /** What came before it is still told: it must not matter what arrived together. */
  readonly failure?: { readonly thrown: unknown };
}

function take(frames: readonly SseFrame[], answer: Answer): Taken {
  const batch: EngineEvent[] = [];
  const emit = (event: EngineEvent): void => void batch.push(event);
  try {
    for (const { data } of frames) {
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
}

function createFrames(faults: Faults): { push(text: string): readonly SseFrame[] } {
  const parser = createSseParser({ sizeMax: UPSTREAM_EVENT_CHARACTERS_MAX });
  let isFirst = true;
  return {
    push(text) {
      const rest = isFirst && text.startsWith('\uFEFF') ? text.slice(1) : text;
      isFirst = false;
      try {
        return parser.push(rest);
      } catch {
        throw faults.failed(`sent an event of more than ${UPSTREAM_EVENT_CHARACTERS_MAX} characters`);
      }
    },
  };
}

/** Reads the few bytes after the end mark, so that the connection can be used again. */
function drain(response: IncomingMessage): void {
  if (response.readableEnded || response.destroyed) return;
  const timer = setTimeout(() => response.destroy(), UPSTREAM_TAIL_MS);
  response.once('close', () => clearTimeout(timer));
  response.resume();
}
