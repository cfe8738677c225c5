import type { Ids } from '../../../core/id.ts';
import { ServiceError } from '../../../core/error.ts';
import type { RequestContext } from '../../../core/context.ts';
import type { BackgroundResponses } from '../../../resources/responses/background.ts';
import type { Responses } from '../../../resources/responses/response.ts';
import { json, stream } from '../../endpoint.ts';
import type { Endpoint, Reply } from '../../endpoint.ts';
import { INTERFACES } from '../../interfaces.ts';
import { readAsked } from './asked-turn.ts';
import type { AskedNeeds } from './asked-turn.ts';
import { beginAnswer } from './begin-answer.ts';
import type { AnswerNeeds, Begun } from './begin-answer.ts';
import type { ResponseObject } from './encode.ts';
import { enqueue } from './enqueue.ts';
import { inOurWords } from './in-our-words.ts';
import { keptTurn } from './kept-turn.ts';
import type { ResponseEvent } from './response-event.ts';
import { responseStream } from './stream.ts';

export interface ResponseCreateNeeds extends Pick<AskedNeeds, 'catalogue' | 'findDocument'>, AnswerNeeds {
  readonly responses: Pick<Responses, 'begin' | 'findItems'>;
  readonly background: Pick<BackgroundResponses, 'look' | 'enqueue' | 'tail'>;
  readonly ids: Pick<Ids, 'sortable'>;
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
      if (asked.wire.background === true) {
        return enqueue({ id, asked, body }, needs, context).catch((error: unknown) => {
          throw inOurWords(error);
        });
      }
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

async function answer(begun: Begun, needs: AnswerNeeds, context: RequestContext): Promise<Reply> {
  const { turn, asked } = begun;
  const { head, headers, ...begunAnswer } = await beginAnswer(begun, needs, context);
  const batches = keptTurn(begunAnswer.batches, {
    turn,
    async keep(result) {
      const { response, record } = begunAnswer.finish(result);
      await turn.complete(record);
      return response;
    },
  });
  if (asked.wire.stream === true) return stream(batches, responseStream(head), headers);
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
