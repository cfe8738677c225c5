import type { Ids } from '../../../core/id.ts';
import { ServiceError } from '../../../core/error.ts';
import type { RequestContext } from '../../../core/context.ts';
import type { FitHistory } from '../../../generation/fit-history.ts';
import { unixSeconds } from '../../../lib/clock.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Responses, Turn } from '../../../resources/responses/response.ts';
import { json, stream } from '../../endpoint.ts';
import type { Endpoint, Reply } from '../../endpoint.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { readAsked } from './asked-turn.ts';
import type { Asked, AskedNeeds } from './asked-turn.ts';
import { droppedHeader } from './dropped-header.ts';
import { encode } from './encode.ts';
import type { ResponseObject } from './encode.ts';
import { askedFields } from './head.ts';
import { keptTurn } from './kept-turn.ts';
import type { ResponseEvent } from './response-event.ts';
import { placeIn } from './place.ts';
import { responseStream } from './stream.ts';

export interface ResponseCreateNeeds extends Pick<AskedNeeds, 'catalogue' | 'findDocument'> {
  readonly responses: Pick<Responses, 'begin' | 'findItems'>;
  readonly fitHistory: FitHistory;
  readonly ids: Pick<Ids, 'sortable'>;
  readonly clock: Clock;
  readonly strict?: boolean;
}

/** POST /compatible-mode/v1/responses (wire.md E6.2). */
export function responseCreate({ strict = false, ...needs }: ResponseCreateNeeds): Endpoint {
  return {
    operation: 'responses.create',
    method: 'POST',
    path: '/compatible-mode/v1/responses',
    family: 'compatible',
    regions: INTERFACES.responses.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const asked = readAsked(body, { ...needs, strict }, context);
      const id = needs.ids.sortable('resp_');
      const turn = await needs.responses.begin(context.owner, { id, ...asked.wish });
      try {
        return await answer({ id, turn, asked }, needs, context);
      } catch (error) {
        await turn.abandon();
        throw inOurWords(error);
      }
    },
  };
}

interface Begun {
  readonly id: string;
  readonly turn: Turn;
  readonly asked: Asked;
}

async function answer(
  { id, turn, asked }: Begun,
  { fitHistory, clock }: Pick<ResponseCreateNeeds, 'fitHistory' | 'clock'>,
  context: RequestContext,
): Promise<Reply> {
  const { wire, entry } = asked;
  const { input, itemsLeftOut, ignored, ...request } = await asked.goOn(turn);
  const turns = wire.truncation === 'auto' ? request.turns : 0;
  const generation = await fitHistory({ ...request, turns }, { interface: 'responses' }, context);

  const head = { id, created: unixSeconds(clock.now()), model: wire.model, asked: askedFields(wire, entry) };
  const batches = keptTurn(generation.batches, {
    turn,
    async keep(result) {
      const response = encode(head, result, unixSeconds(clock.now()));
      const output = response.output.map((item) => ({ id: item.id, json: JSON.stringify(item) }));
      await turn.complete({ json: JSON.stringify(response), input, output, isStored: wire.store ?? true });
      return response;
    },
  });
  const headers = {
    ...ignoredHeader(ignored(generation.ignored)),
    ...droppedHeader(turn.olderItems + itemsLeftOut(generation.dropped)),
  };
  if (wire.stream === true) return stream(batches, responseStream(head), headers);
  return json(await responseOf(batches), headers);
}

async function responseOf(batches: AsyncIterable<readonly ResponseEvent[]>): Promise<ResponseObject> {
  let told: ResponseObject | undefined;
  for await (const batch of batches) {
    for (const event of batch) if (event.type === 'response-end') told = event.response;
  }
  if (!told) throw new ServiceError('engine-failed', 'The answer broke off before its end.');
  return told;
}

/** What is wrong with a conversation is wrong with the input here. */
function inOurWords(thrown: unknown): ServiceError {
  const error = ServiceError.from(thrown);
  if (error.param === undefined || placeIn(error.param) === error.param) return error;
  const { kind, message, param, retryAfterSeconds, allow, excess, cause } = error;
  return new ServiceError(kind, message, { param: placeIn(param), retryAfterSeconds, allow, excess, cause });
}
