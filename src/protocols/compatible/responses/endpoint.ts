import type { IdGenerator } from '../../../core/id.ts';
import type { RequestContext } from '../../../core/context.ts';
import type { BackgroundResponses } from '../../../resources/responses/background.ts';
import type { Responses } from '../../../resources/responses/response.ts';
import { createJsonReply, createStreamReply, type Endpoint, type Reply } from '../../endpoint.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseResponseRequest, type ResponseRequestDeps } from './parse-response-request.ts';
import { startAnswer, type AnswerDeps, type StartedTurn } from './start-answer.ts';
import type { ResponseObject } from './encode.ts';
import { enqueueResponse } from './enqueue-response.ts';
import { mapErrorParam } from './map-error-param.ts';
import { persistTurn } from './persist-turn.ts';
import type { ResponseEvent } from './response-event.ts';
import { createSearchStreamReply, encodeSearchHeader } from '../../search-outcome.ts';
import { createResponseStreamEncoder } from './stream.ts';
import { createIncompleteAnswerError } from '../../../core/generation-errors.ts';

export interface CreateResponseDeps extends Pick<ResponseRequestDeps, 'catalogue' | 'findDocument'>, AnswerDeps {
  readonly responses: Pick<Responses, 'startTurn' | 'findItems'>;
  readonly background: Pick<BackgroundResponses, 'checkTurn' | 'enqueue' | 'tail'>;
  readonly ids: Pick<IdGenerator, 'createSortableId'>;
  readonly strict?: boolean;
}

/** Creates POST /compatible-mode/v1/responses (docs/wire/openai-compatible.md#responses-routes). */
export function createResponseEndpoint({ strict = false, ...deps }: CreateResponseDeps): Endpoint {
  return {
    operation: 'responses.create',
    method: 'POST',
    path: '/compatible-mode/v1/responses',
    family: 'compatible',
    regions: INTERFACES.responses.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const request = await parseResponseRequest(body, { ...deps, strict }, context);
      const id = deps.ids.createSortableId('resp_');
      if (request.wire.background === true) {
        return enqueueResponse({ id, request: request, body }, deps, context).catch((error: unknown) => {
          throw mapErrorParam(error);
        });
      }
      const turn = await deps.responses.startTurn(context.owner, { id, ...request.turnRequest });
      try {
        return await answerLive({ id, turn, request: request }, deps, context);
      } catch (error) {
        await turn.abandon();
        throw mapErrorParam(error);
      }
    },
  };
}

async function answerLive(started: StartedTurn, deps: AnswerDeps, context: RequestContext): Promise<Reply> {
  const { turn, request } = started;
  const { head, headers: streamHeaders, ...runningAnswer } = await startAnswer(started, deps, context);
  let resultHeaders: Readonly<Record<string, string>> = {};
  const batches = persistTurn(runningAnswer.batches, {
    turn,
    async storeTurn(result) {
      const { response, record, headers } = runningAnswer.finish(result);
      resultHeaders = { ...headers, ...encodeSearchHeader(result) };
      await turn.complete(record);
      return response;
    },
  });
  if (request.wire.stream === true) {
    const encoder = createResponseStreamEncoder(head);
    const hasTools = (request.wire.tools ?? []).length > 0;
    return hasTools
      ? createSearchStreamReply(batches, encoder, streamHeaders)
      : createStreamReply(batches, encoder, streamHeaders);
  }
  const response = await readFinalResponse(batches);
  return createJsonReply(response, resultHeaders);
}

async function readFinalResponse(batches: AsyncIterable<readonly ResponseEvent[]>): Promise<ResponseObject> {
  let response: ResponseObject | undefined;
  for await (const batch of batches) {
    for (const event of batch) if (event.type === 'response-end') response = event.response;
  }
  if (!response) throw createIncompleteAnswerError();
  return response;
}
