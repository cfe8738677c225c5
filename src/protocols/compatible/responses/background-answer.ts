import type { RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import type { Ids } from '../../../core/id.ts';
import { createFold } from '../../../generation/collect.ts';
import type { BackgroundResponses, RunningResponse, WaitingRun } from '../../../resources/responses/background.ts';
import type { Responses } from '../../../resources/responses/response.ts';
import { readAsked } from './asked-turn.ts';
import type { AskedNeeds } from './asked-turn.ts';
import { beginAnswer } from './begin-answer.ts';
import type { AnswerNeeds, BegunAnswer } from './begin-answer.ts';
import { inOurWords } from './in-our-words.ts';
import { responseStream } from './stream.ts';
import type { ResponseEncoder } from './stream.ts';

interface BackgroundAnswerNeeds extends Pick<AskedNeeds, 'catalogue' | 'findDocument'>, AnswerNeeds {
  readonly responses: Pick<Responses, 'begin' | 'findItems'>;
  readonly background: Pick<BackgroundResponses, 'begin'>;
  readonly ids: Pick<Ids, 'sortable'>;
  readonly strict?: boolean;
}

export interface BackgroundAttempt {
  readonly run: WaitingRun;
  readonly attempt: number;
  /** Ends the work: what comes of it is nobody's. */
  readonly abort: (reason: ServiceError) => void;
}

/**
 * Makes an answer as a live request does, and keeps it. What is told of it is what its caller would have been told. Rejects
 * where it did not come to its end, which may have been told by then or not.
 */
export const backgroundAnswer =
  ({ strict = false, ...needs }: BackgroundAnswerNeeds) =>
  async ({ run, attempt, abort }: BackgroundAttempt, context: RequestContext): Promise<void> => {
    const { id, owner, createdAt } = run;
    const asked = readAsked(run.body, { ...needs, strict }, context);
    const turn = await needs.responses.begin(owner, { id, ...asked.wish });
    try {
      const answer = await beginAnswer({ id, turn, asked, createdAt }, needs, context);
      const running = await needs.background.begin(id, attempt, abort).catch(async (error: unknown) => {
        await answer.batches[Symbol.asyncIterator]().return?.();
        throw error;
      });
      const encoder = run.isStreamed ? responseStream(answer.head, { begunAt: running.nextSequence }) : undefined;
      try {
        const { record, state, last } = await told(answer, running, encoder);
        await turn.complete({ ...record, run: { ...(await running.end(last)), state } });
      } catch (error) {
        await turn.abandon();
        if (encoder && isOurs(context.signal)) await failed(running, encoder, inOurWords(error));
        throw error;
      } finally {
        running.close();
      }
    } catch (error) {
      await turn.abandon();
      throw inOurWords(error);
    }
  };

/** All of an answer but its last events, which are told with what is kept. */
async function told(answer: BegunAnswer, running: RunningResponse, encoder: ResponseEncoder | undefined) {
  const fold = createFold();
  for await (const batch of answer.batches) {
    for (const event of batch) fold.push(event);
    const events = batch.filter((event) => event.type !== 'end');
    const room = running.tell(encoder?.push(events) ?? '');
    if (room) await room;
    if (events.length === batch.length) continue;
    const { response, record } = answer.finish(fold.result());
    const last = encoder?.push([{ type: 'response-end', response }]) ?? '';
    return { record, last, state: response.status === 'incomplete' ? 'incomplete' : 'completed' } as const;
  }
  throw new ServiceError('engine-failed', 'The answer broke off before its end.');
}

/** Whether its end is still to be told by us: not where somebody else ended it, or goes on with it. */
const isOurs = ({ aborted, reason }: AbortSignal): boolean =>
  !aborted || (reason instanceof ServiceError && reason.kind !== 'cancelled');

/** With the items that were complete. */
async function failed(running: RunningResponse, encoder: ResponseEncoder, error: ServiceError): Promise<void> {
  const json = JSON.stringify(encoder.failed(error));
  await running.fail({ json, events: encoder.fail(error) });
}
