import type { GenerationEvent } from '../core/event.ts';
import { encodeSseComment } from '../lib/sse.ts';
import type { StreamEncoder } from './stream-encoder.ts';

/**
 * Encodes the `x-parley-terms` header of an unstreamed translation: how many of the requested terms appear in it with
 * their target text, for example `1/2`.
 */
export const encodeTermsHeader = (coverage: string | undefined): Readonly<Record<string, string>> =>
  coverage === undefined ? {} : { 'x-parley-terms': coverage };

/** Adds the same information to a stream: an SSE comment before the chunks that end the answer. */
export function withTermsComment(
  encoder: StreamEncoder<GenerationEvent>,
  getCoverage: () => string | undefined,
): StreamEncoder<GenerationEvent> {
  return {
    ...encoder,
    push(events) {
      const end = events.findIndex(({ type }) => type === 'choice-end');
      const coverage = end < 0 ? undefined : getCoverage();
      if (coverage === undefined) return encoder.push(events);
      return (
        encoder.push(events.slice(0, end)) +
        encodeSseComment(`parley-terms ${coverage}`) +
        encoder.push(events.slice(end))
      );
    },
  };
}
