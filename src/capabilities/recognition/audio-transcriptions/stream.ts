import type { ServiceError } from '../../../core/error.ts';
import { createIncompleteAnswerError } from '../../../core/generation-errors.ts';
import { encodeSseComment, encodeSseData } from '../../../lib/sse.ts';
import { encodeErrorBody } from '../../../protocols/compatible/errors.ts';
import type { StreamEncoder } from '../../../protocols/stream-encoder.ts';
import { encodeUsage, getSentenceSeparator } from './encode.ts';
import type { ScoredSentence, UploadTranscript } from './encode.ts';

/** Event of a recognition: some sentences, or the end, which is the last event. */
export type RecognitionEvent =
  | { readonly type: 'sentences'; readonly sentences: readonly ScoredSentence[] }
  | { readonly type: 'end'; readonly audioMetadata: UploadTranscript['audioMetadata'] };

/**
 * Creates the encoder of a transcription stream: one delta for each sentence, and the whole text at the end
 * (docs/wire/openai-compatible.md#audio-transcriptions).
 */
export function createTranscriptionStreamEncoder(requestId: string): StreamEncoder<RecognitionEvent> {
  let text = '';
  let separator = '';
  let isFinished = false;

  const encodeSentence = (sentence: ScoredSentence): string => {
    const delta = separator + sentence.text;
    separator = getSentenceSeparator(sentence);
    text += delta;
    return encodeSseData(JSON.stringify({ type: 'transcript.text.delta', delta }));
  };

  const encodeEvent = (event: RecognitionEvent): string => {
    if (event.type === 'sentences') return event.sentences.map(encodeSentence).join('');
    isFinished = true;
    return encodeSseData(JSON.stringify({ type: 'transcript.text.done', text, usage: encodeUsage(event) }));
  };

  return {
    contentType: 'text/event-stream;charset=UTF-8',
    open: () => '',
    push: (events) => events.map(encodeEvent).join(''),
    keepAlive: () => encodeSseComment('keep-alive'),
    fail: (error: ServiceError) => encodeSseData(JSON.stringify(encodeErrorBody(error, requestId))),
    close() {
      if (!isFinished) throw createIncompleteAnswerError();
      return '';
    },
  };
}
