import type { RequestContext } from '../../../core/context.ts';
import type { GenerationEvent } from '../../../core/event.ts';
import type { GenerationResult } from '../../../core/result.ts';
import type { FitHistory } from '../../../generation/fit-history.ts';
import { unixSeconds } from '../../../lib/clock.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Turn, TurnRecord } from '../../../resources/responses/response.ts';
import { ignoredHeader } from '../../ignored.ts';
import type { Asked } from './asked-turn.ts';
import { droppedHeader } from './dropped-header.ts';
import { encode } from './encode.ts';
import type { ResponseObject } from './encode.ts';
import { askedFields } from './head.ts';
import type { ResponseHead } from './head.ts';

export interface AnswerNeeds {
  readonly fitHistory: FitHistory;
  readonly clock: Clock;
}

export interface Begun {
  readonly id: string;
  readonly turn: Turn;
  readonly asked: Asked;
  /** UTC milliseconds; undefined: now. */
  readonly createdAt?: number;
}

/** An answer in the making, whoever waits for it. */
export interface BegunAnswer {
  readonly head: ResponseHead;
  readonly batches: AsyncIterable<readonly GenerationEvent[]>;
  readonly headers: Readonly<Record<string, string>>;
  /** What it is in the end: as it is told, and as it is kept. */
  finish(result: GenerationResult): { readonly response: ResponseObject; readonly record: TurnRecord };
}

/** The turn is begun; here its answer is. @throws ServiceError of any kind that decoding and generation refuse with. */
export async function beginAnswer(
  { id, turn, asked, createdAt }: Begun,
  { fitHistory, clock }: AnswerNeeds,
  context: RequestContext,
): Promise<BegunAnswer> {
  const { wire, entry } = asked;
  const { input, itemsLeftOut, ignored, ...request } = await asked.goOn(turn);
  const turns = wire.truncation === 'auto' ? request.turns : 0;
  const generation = await fitHistory({ ...request, turns }, { interface: 'responses' }, context);
  const created = unixSeconds(createdAt ?? clock.now());
  const head = { id, created, model: wire.model, asked: askedFields(wire, entry) };
  return {
    head,
    batches: generation.batches,
    headers: {
      ...ignoredHeader(ignored(generation.ignored)),
      ...droppedHeader(turn.olderItems + itemsLeftOut(generation.dropped)),
    },
    finish(result) {
      const response = encode(head, result, unixSeconds(clock.now()));
      const output = response.output.map((item) => ({ id: item.id, json: JSON.stringify(item) }));
      return { response, record: { json: JSON.stringify(response), input, output, isStored: wire.store ?? true } };
    },
  };
}
