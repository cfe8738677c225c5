import type { RequestContext } from '../../../core/context.ts';
import type { GenerationEvent } from '../../../core/event.ts';
import type { GenerationResult } from '../../../core/result.ts';
import type { FitHistory } from '../../../generation/fit-history.ts';
import { toUnixSeconds, type Clock } from '../../../lib/clock.ts';
import type { Turn, TurnResult } from '../../../resources/responses/response.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { listUnparsedCalls } from '../../unparsed-calls.ts';
import type { ParsedResponseRequest } from './parse-response-request.ts';
import { encodeDroppedHeader } from './dropped-header.ts';
import { encodeResponse, type ResponseObject } from './encode.ts';
import { encodeRequestFields, type ResponseHead } from './head.ts';

export interface AnswerDeps {
  readonly fitHistory: FitHistory;
  readonly clock: Clock;
}

export interface StartedTurn {
  readonly id: string;
  readonly turn: Turn;
  readonly request: ParsedResponseRequest;
  /** Creation time in UTC milliseconds; default: now. */
  readonly createdAt?: number;
}

/** A running generation of a response, live or in the background. */
export interface RunningAnswer {
  readonly head: ResponseHead;
  readonly batches: AsyncIterable<readonly GenerationEvent[]>;
  readonly headers: Readonly<Record<string, string>>;
  /** Returns the final response object, the turn to store, and the headers of a response that is not streamed. */
  finish(result: GenerationResult): {
    readonly response: ResponseObject;
    readonly record: TurnResult;
    readonly headers: Readonly<Record<string, string>>;
  };
}

/** Starts the generation of a started turn. @throws ServiceError of any kind from decoding or generation. */
export async function startAnswer(
  { id, turn, request, createdAt }: StartedTurn,
  { fitHistory, clock }: AnswerDeps,
  context: RequestContext,
): Promise<RunningAnswer> {
  const { wire, resolved } = request;
  const { input, countDroppedItems, listIgnored, ...shortenable } = await request.prepareTurn(turn);
  const turns = wire.truncation === 'auto' ? shortenable.droppableTurns : 0;
  const generation = await fitHistory({ ...shortenable, droppableTurns: turns }, resolved, context);
  const created = toUnixSeconds(createdAt ?? clock.now());
  const head = { id, created, model: wire.model, requestFields: encodeRequestFields(wire, resolved.entry) };
  const createHeaders = (unparsed: readonly string[]): Readonly<Record<string, string>> => ({
    ...encodeIgnoredHeader([...listIgnored(generation.ignored), ...unparsed]),
    ...encodeDroppedHeader(turn.olderItems + countDroppedItems(generation.droppedTurns)),
  });
  return {
    head,
    batches: generation.batches,
    headers: createHeaders([]),
    finish(result) {
      const response = encodeResponse(head, result, toUnixSeconds(clock.now()));
      const output = response.output.map((item) => ({ id: item.id, json: JSON.stringify(item) }));
      return {
        response,
        record: { json: JSON.stringify(response), input, output, isStored: wire.store ?? true },
        headers: createHeaders(listUnparsedCalls(result)),
      };
    },
  };
}
