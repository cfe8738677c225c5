import type { GenerationEvent } from '../core/event.ts';
import type { GenerationResult } from '../core/result.ts';
import type { ServerCallResult } from '../core/server-tools.ts';
import { encodeSseComment } from '../lib/sse.ts';
import type { StreamEncoder } from './stream-encoder.ts';

/** Outcome of all searches of an answer, if none of them had results: `failed` if each of them failed. */
type EmptyOutcome = 'found-nothing' | 'failed';

/** Encodes the `x-parley-search` header of an unstreamed answer whose searches had no results. */
export const encodeSearchHeader = (result: GenerationResult): Readonly<Record<string, string>> =>
  toHeader(findEmptyOutcome(listServerResults(result)));

/** Lists the results of all server tools of an answer. */
export const listServerResults = ({ choices }: GenerationResult): readonly ServerCallResult[] =>
  choices.flatMap(({ blocks }) => blocks.flatMap((block) => (block.type === 'server-call' ? [block.result] : [])));

/** An encoder that reports searches without results, and the header with the same information. */
export interface SearchReport {
  readonly encoder: StreamEncoder<GenerationEvent>;
  /** Returns the header as far as the outcome is known: the head of a stream may precede its searches. */
  readonly getHeaders: () => Readonly<Record<string, string>>;
}

/**
 * Adds the information to a stream whose events do not show searches: an SSE comment before the first text of the
 * answer, and the header if the head is not sent before.
 */
export function reportSearches(encoder: StreamEncoder<GenerationEvent>): SearchReport {
  const results: ServerCallResult[] = [];
  let outcome: EmptyOutcome | undefined;
  let isReported = false;
  return {
    getHeaders: () => toHeader(outcome),
    encoder: {
      ...encoder,
      push(events) {
        for (const event of events) if (event.type === 'server-result') results.push(event.result);
        const start = events.findIndex(({ type }) => type === 'block-start');
        if (isReported || start < 0) return encoder.push(events);
        isReported = true;
        outcome = findEmptyOutcome(results);
        if (outcome === undefined) return encoder.push(events);
        const before = encoder.push(events.slice(0, start));
        return before + encodeSseComment(`parley-search ${outcome}`) + encoder.push(events.slice(start));
      },
    },
  };
}

/** Returns undefined if nothing was searched, or anything was found. */
export function findEmptyOutcome(results: readonly ServerCallResult[]): EmptyOutcome | undefined {
  const searches = results.filter((result) => result.type === 'search');
  if (searches.length === 0 || searches.some(({ sources, findings }) => sources.length + findings.length > 0))
    return undefined;
  return searches.every(({ failure }) => failure) ? 'failed' : 'found-nothing';
}

const toHeader = (outcome: EmptyOutcome | undefined): Readonly<Record<string, string>> =>
  outcome === undefined ? {} : { 'x-parley-search': outcome };
