import type { GenerationEvent } from '../core/event.ts';
import type { GenerationResult } from '../core/result.ts';
import type { ServerCallResult } from '../core/server-tools.ts';
import { ANSWER_START_CHARS, statesNoAnswer } from '../generation/server-tools/unanswered.ts';
import { encodeSseComment } from '../lib/sse.ts';
import { createStreamReply, type Reply } from './endpoint.ts';
import type { StreamEncoder } from './stream-encoder.ts';

/**
 * Outcome of the searches of an answer that is not based on sources: none of the searches had results, each of them
 * failed, or the answer says that the sources do not contain it.
 */
export type SearchOutcome = 'found-nothing' | 'failed' | 'unanswered';

/** Encodes the `x-parley-search` header of an unstreamed answer. */
export const encodeSearchHeader = (result: GenerationResult): Readonly<Record<string, string>> =>
  toHeader(findSearchOutcome(result));

/** Returns undefined if nothing was searched, or the answer is based on sources. */
export const findSearchOutcome = (result: GenerationResult): SearchOutcome | undefined =>
  findOutcome(listServerResults(result), joinFirstAnswer(result));

const joinFirstAnswer = ({ choices }: GenerationResult): string =>
  (choices[0]?.blocks ?? []).map((block) => (block.type === 'text' ? block.text : '')).join('');

const findOutcome = (results: readonly ServerCallResult[], answer: string): SearchOutcome | undefined => {
  const hasSearched = results.some(({ type }) => type === 'search');
  return findEmptyOutcome(results) ?? (hasSearched && statesNoAnswer(answer) ? 'unanswered' : undefined);
};

/** Lists the results of all server tools of an answer. */
const listServerResults = ({ choices }: GenerationResult): readonly ServerCallResult[] =>
  choices.flatMap(({ blocks }) => blocks.flatMap((block) => (block.type === 'server-call' ? [block.result] : [])));

/** Events of streams with searches. The last one is `end` or `response-end`. */
type ReportedEvent = GenerationEvent | { readonly type: 'response-end' };

/** An encoder that reports searches without results, and the header with the same information. */
export interface SearchReport<Event> {
  readonly encoder: StreamEncoder<Event>;
  /** Returns the header as far as the outcome is known: the head of a stream may precede its searches. */
  readonly getHeaders: () => Readonly<Record<string, string>>;
}

/**
 * Adds the information to a stream: an SSE comment before the first text of the answer, or before its end if only the
 * text shows the outcome, and the header if the head is not sent before.
 */
export function reportSearches<Event extends ReportedEvent>(encoder: StreamEncoder<Event>): SearchReport<Event> {
  const results: ServerCallResult[] = [];
  let answer = '';
  let outcome: SearchOutcome | undefined;
  let hasText = false;

  const collect = (event: Event): void => {
    if (event.type === 'server-result') results.push(event.result);
    if (event.type === 'block-delta' && event.choice === 0 && answer.length < ANSWER_START_CHARS) answer += event.text;
  };
  /** Puts the comment before the event at `at`. */
  const pushWithComment = (events: readonly Event[], at: number): string =>
    outcome === undefined
      ? encoder.push(events)
      : encoder.push(events.slice(0, at)) + encodeSearchComment(outcome) + encoder.push(events.slice(at));

  return {
    getHeaders: () => toHeader(outcome),
    encoder: {
      ...encoder,
      push(events) {
        for (const event of events) collect(event);
        const start = hasText ? -1 : events.findIndex(({ type }) => type === 'block-start');
        if (start >= 0) {
          hasText = true;
          outcome = findEmptyOutcome(results);
          if (outcome !== undefined) return pushWithComment(events, start);
        }
        const end = events.findIndex(({ type }) => type === 'end' || type === 'response-end');
        if (end < 0 || outcome !== undefined) return encoder.push(events);
        outcome = findOutcome(results, answer);
        return pushWithComment(events, end);
      },
    },
  };
}

/** Creates the reply of a stream whose model may search. */
export function createSearchStreamReply<Event extends ReportedEvent>(
  batches: AsyncIterable<readonly Event[]>,
  encoder: StreamEncoder<Event>,
  headers: Readonly<Record<string, string>>,
): Reply {
  const { encoder: reporting, getHeaders } = reportSearches(encoder);
  return { ...createStreamReply(batches, reporting, headers), getLateHeaders: getHeaders };
}

/** Encodes the SSE comment that reports an outcome. */
const encodeSearchComment = (outcome: SearchOutcome): string => encodeSseComment(`parley-search ${outcome}`);

/** Returns undefined if nothing was searched, or anything was found. */
export function findEmptyOutcome(
  results: readonly ServerCallResult[],
): Exclude<SearchOutcome, 'unanswered'> | undefined {
  const searches = results.filter((result) => result.type === 'search');
  if (searches.length === 0 || searches.some(({ sources, findings }) => sources.length + findings.length > 0))
    return undefined;
  return searches.every(({ failure }) => failure) ? 'failed' : 'found-nothing';
}

const toHeader = (outcome: SearchOutcome | undefined): Readonly<Record<string, string>> =>
  outcome === undefined ? {} : { 'x-parley-search': outcome };
