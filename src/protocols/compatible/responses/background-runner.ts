import type { RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import type { IdGenerator } from '../../../core/id.ts';
import { createResultBuilder } from '../../../generation/collect-result.ts';
import type { BackgroundResponses, RunningResponse, PendingRun } from '../../../resources/responses/background.ts';
import type { Responses } from '../../../resources/responses/response.ts';
import { parseResponseRequest, type ResponseRequestDeps } from './parse-response-request.ts';
import { startAnswer, type AnswerDeps, type RunningAnswer } from './start-answer.ts';
import { mapErrorParam } from './map-error-param.ts';
import { createResponseStreamEncoder, type ResponseEncoder } from './stream.ts';
import { createIncompleteAnswerError } from '../../../core/generation-errors.ts';

interface BackgroundRunnerDeps extends Pick<ResponseRequestDeps, 'catalogue' | 'findDocument'>, AnswerDeps {
  readonly responses: Pick<Responses, 'startTurn' | 'findItems'>;
  readonly background: Pick<BackgroundResponses, 'start'>;
  readonly ids: Pick<IdGenerator, 'createSortableId'>;
  readonly strict?: boolean;
}

export interface BackgroundAttempt {
  readonly run: PendingRun;
  readonly attempt: number;
  /** Stops the work; its result is discarded. */
  readonly abort: (reason: ServiceError) => void;
}

/**
 * Creates the function that generates and stores a background response, with the same events as a live request. It
 * rejects if the response did not finish; the failure may have been reported to readers already.
 */
export const createBackgroundRunner =
  ({ strict = false, ...deps }: BackgroundRunnerDeps) =>
  async ({ run, attempt, abort }: BackgroundAttempt, context: RequestContext): Promise<void> => {
    const { id, owner, createdAt } = run;
    const request = await parseResponseRequest(run.body, { ...deps, strict }, context);
    const turn = await deps.responses.startTurn(owner, { id, ...request.turnRequest });
    try {
      const answer = await startAnswer({ id, turn, request, createdAt }, deps, context);
      const running = await deps.background.start(id, attempt, abort).catch(async (error: unknown) => {
        await answer.batches[Symbol.asyncIterator]().return?.();
        throw error;
      });
      const encoder = run.isStreamed
        ? createResponseStreamEncoder(answer.head, { startSequence: running.nextSequence })
        : undefined;
      try {
        const { record, state, last } = await runAnswer(answer, running, encoder);
        await turn.complete({ ...record, run: { ...(await running.finish(last)), state } });
      } catch (error) {
        await turn.abandon();
        if (encoder && mustReportFailure(context.signal)) await reportFailure(running, encoder, mapErrorParam(error));
        throw error;
      } finally {
        running.close();
      }
    } catch (error) {
      await turn.abandon();
      throw mapErrorParam(error);
    }
  };

/** Passes all events except the last ones, which are stored together with the final response. */
async function runAnswer(answer: RunningAnswer, running: RunningResponse, encoder: ResponseEncoder | undefined) {
  const resultBuilder = createResultBuilder();
  for await (const batch of answer.batches) {
    for (const event of batch) resultBuilder.push(event);
    const events = batch.filter((event) => event.type !== 'end');
    const backpressure = running.emit(encoder?.push(events) ?? '');
    if (backpressure) await backpressure;
    if (events.length === batch.length) continue;
    const { response, record } = answer.finish(resultBuilder.result());
    const last = encoder?.push([{ type: 'response-end', response }]) ?? '';
    return { record, last, state: response.status === 'incomplete' ? 'incomplete' : 'completed' } as const;
  }
  throw createIncompleteAnswerError();
}

/** Tells whether this attempt must report its failure: not if it was cancelled, or if another worker continues it. */
const mustReportFailure = ({ aborted, reason }: AbortSignal): boolean =>
  !aborted || (reason instanceof ServiceError && reason.kind !== 'cancelled');

/** Stores the failed response with the items that were complete. */
async function reportFailure(running: RunningResponse, encoder: ResponseEncoder, error: ServiceError): Promise<void> {
  const json = JSON.stringify(encoder.encodeFailure(error));
  await running.fail({ json, events: encoder.fail(error) });
}
