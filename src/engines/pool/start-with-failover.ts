import { ServiceError } from '../../core/error.ts';
import type { EngineEvent } from '../../core/event.ts';
import { POOL_UNREAD_MS_MAX } from './limits.ts';
import { createLinkedAbort, type LinkedAbort } from '../../lib/linked-abort.ts';
import { getAbortError } from '../get-abort-error.ts';
import type { EngineRequest, EngineRun } from '../engine.ts';
import type { MemberWork } from './pool-member.ts';
import type { Failover } from './failover.ts';
import { createCancelledError, createEngineFailedError } from '../../core/generation-errors.ts';

type Batch = readonly EngineEvent[];
type StartInfo = Omit<EngineRun, 'batches'>;

/** A request at one member. */
interface MemberRun {
  readonly work: MemberWork;
  readonly linked: LinkedAbort;
  /** Set once the member has accepted the request. */
  source?: AsyncIterator<Batch>;
}

interface StartOptions {
  readonly signal: AbortSignal;
  readonly failover: Failover;
  /** Called when nothing more is read from a run that has started. */
  readonly onClose?: (() => void) | undefined;
}

/**
 * Starts a request at one member after another until one accepts it, and continues with the next when the answer fails
 * before its first event. From the first event on, a failure is passed to the caller.
 *
 * The start info of the first member stays valid: model and prompt are the same everywhere, so a member that counts the
 * prompt differently or lowers the limit to another value is skipped. Exception: `cachedTokens` depends on the member, so
 * only the `end` event has the final value.
 */
export async function startWithFailover(
  request: EngineRequest,
  { signal, failover, onClose }: StartOptions,
): Promise<EngineRun> {
  let run: MemberRun | undefined;
  let hasOutput = false;
  let hasEndEvent = false;
  /** True when nothing more is read: the stream ended, failed or was abandoned. */
  let isClosed = false;

  const startOnNextMember = async (firstInfo?: StartInfo): Promise<StartInfo> => {
    for (;;) {
      const current = createMemberRun(failover.startNext(), signal);
      run = current;
      try {
        const { batches, ...info } = await current.work.engine.start(request, current.linked.signal);
        current.source = batches[Symbol.asyncIterator]();
        // The abort may have happened while no listener was registered.
        if (current.linked.signal.aborted) throw getAbortError(current.linked.signal);
        if (firstInfo === undefined || areCompatible(firstInfo, info)) return info;
        await abandonRun(current, CANCELED);
      } catch (thrown) {
        current.linked.unlink();
        if (current.linked.signal.aborted) throw getAbortError(current.linked.signal);
        failover.recordFailure(current.work, thrown);
      }
    }
  };

  const readFirstBatch = async (): Promise<Batch> => {
    for (;;) {
      const current = run;
      try {
        const result = await current?.source?.next();
        if (result === undefined || result.done === true) throw createIncompleteStreamError();
        if (result.value.length === 0) continue;
        current?.work.recordOutput();
        hasOutput = true;
        return result.value;
      } catch (thrown) {
        current?.linked.unlink();
        if (current?.linked.signal.aborted) throw getAbortError(current.linked.signal);
        if (!current) throw thrown;
        failover.recordFailure(current.work, thrown);
        await startOnNextMember(info);
      }
    }
  };

  const readNextBatch = async (): Promise<Batch | undefined> => {
    if (!hasOutput) return await readFirstBatch();
    const result = await run?.source?.next();
    if (result?.done === false) return result.value;
    // The reader detects the missing end event itself.
    if (!hasEndEvent) run?.work.recordFailure(createIncompleteStreamError());
    return undefined;
  };

  const close = (): void => {
    isClosed = true;
    run?.linked.unlink();
    onClose?.();
  };

  const iterator: AsyncIterator<Batch, undefined> = {
    async next() {
      clearTimeout(unreadTimer);
      if (isClosed) return ITERATION_END;
      try {
        const value = await readNextBatch();
        if (value === undefined) {
          close();
          return ITERATION_END;
        }
        if (value.at(-1)?.type === 'end') {
          hasEndEvent = true;
          run?.work.recordSuccess();
        }
        return { done: false, value };
      } catch (thrown) {
        if (signal.aborted) run?.work.discard();
        else run?.work.recordFailure(ServiceError.from(thrown));
        close();
        throw thrown;
      }
    },
    async return() {
      clearTimeout(unreadTimer);
      if (isClosed) return ITERATION_END;
      close();
      if (hasOutput) run?.work.recordSuccess();
      if (run) await abandonRun(run, CANCELED);
      return ITERATION_END;
    },
  };

  const info = await startOnNextMember();
  const unreadTimer = setTimeout(() => void iterator.return?.(), POOL_UNREAD_MS_MAX);
  unreadTimer.unref();
  return { ...info, batches: { [Symbol.asyncIterator]: () => iterator } };
}

function createMemberRun(work: MemberWork, signal: AbortSignal): MemberRun {
  const linked = createLinkedAbort(signal);
  // Releases the work at once, also when nobody reads the stream.
  linked.signal.addEventListener('abort', work.discard, { once: true });
  return { work, linked };
}

/** Aborts and returns: `return` alone does not reach an iterator that was never read. */
async function abandonRun({ linked, source }: MemberRun, reason: ServiceError): Promise<void> {
  linked.abort(reason);
  linked.unlink();
  await source?.return?.();
}

const areCompatible = (first: StartInfo, now: StartInfo): boolean =>
  isEqualOrUnknown(first.promptTokens, now.promptTokens) && isEqualOrUnknown(first.maxTokens, now.maxTokens);

const isEqualOrUnknown = (one: number | undefined, other: number | undefined): boolean =>
  one === undefined || other === undefined || one === other;

const ITERATION_END = { done: true, value: undefined } as const;

const CANCELED = createCancelledError();

const createIncompleteStreamError = (): ServiceError =>
  createEngineFailedError(new Error('broken stream: without end'));
