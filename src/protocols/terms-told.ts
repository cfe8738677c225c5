import type { GenerationEvent } from '../core/event.ts';
import { sseComment } from '../lib/sse.ts';
import type { StreamEncoder } from './stream-encoder.ts';

/** decisions.md "terms in a stream": how many of the terms of an unstreamed translation show their wording. */
export const termsHeader = (told: string | undefined): Readonly<Record<string, string>> =>
  told === undefined ? {} : { 'x-parley-terms': told };

/** The same in a stream: a comment before the last chunks, those that say that the answer is over. */
export function withTermsTold(
  encoder: StreamEncoder<GenerationEvent>,
  terms: () => string | undefined,
): StreamEncoder<GenerationEvent> {
  return {
    ...encoder,
    push(events) {
      const end = events.findIndex(({ type }) => type === 'choice-end');
      const told = end < 0 ? undefined : terms();
      if (told === undefined) return encoder.push(events);
      return encoder.push(events.slice(0, end)) + sseComment(`parley-terms ${told}`) + encoder.push(events.slice(end));
    },
  };
}
