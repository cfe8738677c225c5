import { ServiceError } from '../../core/error.ts';
import type { EngineEvent } from '../../core/event.ts';
import { POOL_UNREAD_MS_MAX } from '../../core/limits.ts';
import { linkedAbort } from '../../lib/linked-abort.ts';
import type { LinkedAbort } from '../../lib/linked-abort.ts';
import { abortReason } from '../abort-reason.ts';
import type { EngineRequest, EngineStart } from '../engine.ts';
import type { Work } from './member.ts';
import type { Round } from './round.ts';

type Batch = readonly EngineEvent[];
type Told = Omit<EngineStart, 'batches'>;

/** A request in the hands of one member. */
interface Run {
  readonly work: Work;
  readonly linked: LinkedAbort;
  /** Once it has taken the request in. */
  source?: AsyncIterator<Batch>;
}

/**
 * Starts a request on one member after the other until one takes it in, and goes on to the next where its answer fails
 * before its first event. From that event on the answer is this member's: a failure is the caller's to know.
 *
 * What the first start told stays true: the model and the prompt are the same everywhere, and a member that counts the
 * prompt differently or lowers the limit to another one is passed over. `cachedTokens` is the exception: which member had
 * the beginning in its cache is told right by the `end` event only.
 */
export async function startRun(request: EngineRequest, signal: AbortSignal, round: Round): Promise<EngineStart> {
  let run: Run | undefined;
  let isSpeaking = false;
  let hasEnded = false;
  /** Nothing more is read: it ended, broke or was given up. */
  let isOver = false;

  const begin = async (told?: Told): Promise<Told> => {
    for (;;) {
      const mine = newRun(round.next(), signal);
      run = mine;
      try {
        const { batches, ...now } = await mine.work.engine.start(request, mine.linked.signal);
        mine.source = batches[Symbol.asyncIterator]();
        // Its caller may have gone while it did not look.
        if (mine.linked.signal.aborted) throw abortReason(mine.linked.signal);
        if (told === undefined || agree(told, now)) return now;
        await giveUp(mine, GONE);
      } catch (thrown) {
        mine.linked.unlink();
        if (mine.linked.signal.aborted) throw abortReason(mine.linked.signal);
        round.failed(mine.work, thrown);
      }
    }
  };

  const firstBatch = async (): Promise<Batch> => {
    for (;;) {
      const mine = run;
      try {
        const step = await mine?.source?.next();
        if (step === undefined || step.done === true) throw endedTooSoon();
        if (step.value.length === 0) continue;
        mine?.work.spoke();
        isSpeaking = true;
        return step.value;
      } catch (thrown) {
        mine?.linked.unlink();
        if (mine?.linked.signal.aborted) throw abortReason(mine.linked.signal);
        if (!mine) throw thrown;
        round.failed(mine.work, thrown);
        await begin(told);
      }
    }
  };

  const nextBatch = async (): Promise<Batch | undefined> => {
    if (!isSpeaking) return await firstBatch();
    const step = await run?.source?.next();
    if (step?.done === false) return step.value;
    // Its reader sees for itself that there was no end.
    if (!hasEnded) run?.work.failed(endedTooSoon());
    return undefined;
  };

  const over = (): void => {
    isOver = true;
    run?.linked.unlink();
  };

  const iterator: AsyncIterator<Batch, undefined> = {
    async next() {
      clearTimeout(unread);
      if (isOver) return DONE;
      try {
        const value = await nextBatch();
        if (value === undefined) {
          over();
          return DONE;
        }
        if (value.at(-1)?.type === 'end') {
          hasEnded = true;
          run?.work.succeeded();
        }
        return { done: false, value };
      } catch (thrown) {
        if (signal.aborted) run?.work.left();
        else run?.work.failed(ServiceError.from(thrown));
        over();
        throw thrown;
      }
    },
    async return() {
      clearTimeout(unread);
      if (isOver) return DONE;
      over();
      if (isSpeaking) run?.work.succeeded();
      if (run) await giveUp(run, GONE);
      return DONE;
    },
  };

  const told = await begin();
  const unread = setTimeout(() => void iterator.return?.(), POOL_UNREAD_MS_MAX);
  unread.unref();
  return { ...told, batches: { [Symbol.asyncIterator]: () => iterator } };
}

function newRun(work: Work, signal: AbortSignal): Run {
  const linked = linkedAbort(signal);
  // At once, and also where nobody reads.
  linked.signal.addEventListener('abort', work.left, { once: true });
  return { work, linked };
}

/** The abort as well as the return: an iterator that was never read need not hear of the latter. */
async function giveUp({ linked, source }: Run, reason: ServiceError): Promise<void> {
  linked.abort(reason);
  linked.unlink();
  await source?.return?.();
}

const agree = (told: Told, now: Told): boolean =>
  isSame(told.promptTokens, now.promptTokens) && isSame(told.maxTokens, now.maxTokens);

const isSame = (one: number | undefined, other: number | undefined): boolean =>
  one === undefined || other === undefined || one === other;

const DONE = { done: true, value: undefined } as const;

const GONE = new ServiceError('cancelled', 'The request was cancelled.');

const endedTooSoon = (): ServiceError =>
  new ServiceError('engine-failed', 'The engine failed on this request.', {
    cause: new Error('broken stream: without end'),
  });
