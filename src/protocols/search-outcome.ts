import type { GenerationEvent } from '../core/event.ts';
import type { GenerationResult } from '../core/result.ts';
import type { ServerCallResult } from '../core/server-tools.ts';
import { encodeSseComment } from '../lib/sse.ts';
import type { StreamEncoder } from './stream-encoder.ts';

/** Value of the header and of the comment that report a search without results. */
const FOUND_NOTHING = 'found-nothing';

/** Encodes the `x-parley-search` header of an unstreamed answer: `found-nothing` if all its searches found nothing. */
export function encodeSearchHeader({ choices }: GenerationResult): Readonly<Record<string, string>> {
  const results = choices.flatMap(({ blocks }) =>
    blocks.flatMap((block) => (block.type === 'server-call' ? [block.result] : [])),
  );
  const searches = results.filter(({ type }) => type === 'search');
  return searches.length > 0 && !searches.some(hasFindings) ? { 'x-parley-search': FOUND_NOTHING } : {};
}

/**
 * Adds the same information to a stream whose events do not show searches: an SSE comment before the first text of the
 * answer, when all searches so far found nothing.
 */
export function withSearchComment(encoder: StreamEncoder<GenerationEvent>): StreamEncoder<GenerationEvent> {
  let searches = 0;
  let hasFoundAnything = false;
  let isReported = false;
  return {
    ...encoder,
    push(events) {
      for (const event of events)
        if (event.type === 'server-result' && event.result.type === 'search') {
          searches++;
          hasFoundAnything ||= hasFindings(event.result);
        }
      const start = events.findIndex(({ type }) => type === 'block-start');
      if (isReported || start < 0) return encoder.push(events);
      isReported = true;
      if (searches === 0 || hasFoundAnything) return encoder.push(events);
      const before = encoder.push(events.slice(0, start));
      return before + encodeSseComment(`parley-search ${FOUND_NOTHING}`) + encoder.push(events.slice(start));
    },
  };
}

const hasFindings = (result: ServerCallResult): boolean =>
  result.type === 'search' && result.sources.length + result.findings.length > 0;
