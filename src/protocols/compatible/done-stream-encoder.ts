import type { GenerationEvent } from '../../core/event.ts';
import { createIncompleteAnswerError } from '../../core/generation-errors.ts';
import { encodeSseComment, encodeSseData } from '../../lib/sse.ts';
import type { StreamEncoder } from '../stream-encoder.ts';
import { encodeErrorBody } from './errors.ts';

export interface DoneStreamOptions {
  readonly requestId: string;
  /** Returns the text of one event. */
  readonly encodeEvent: (event: GenerationEvent) => string;
  /** Changes the text of all events and errors. */
  readonly escape?: (text: string) => string;
}

/** Creates the encoder of a stream that ends with `data: [DONE]` (docs/wire/openai-compatible.md#chat-stream). */
export function createDoneStreamEncoder({
  requestId,
  encodeEvent,
  escape = (text) => text,
}: DoneStreamOptions): StreamEncoder<GenerationEvent> {
  let isFinished = false;
  return {
    contentType: 'text/event-stream;charset=UTF-8',
    open: () => '',
    push(events) {
      let text = '';
      for (const event of events) {
        text += encodeEvent(event);
        if (event.type === 'end') isFinished = true;
      }
      return escape(text);
    },
    keepAlive: () => encodeSseComment('keep-alive'),
    fail: (error) => encodeSseData(escape(JSON.stringify(encodeErrorBody(error, requestId)))),
    close() {
      if (!isFinished) throw createIncompleteAnswerError();
      return 'data: [DONE]\n\n';
    },
  };
}
