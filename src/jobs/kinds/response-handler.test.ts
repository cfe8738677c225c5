import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import { systemIdGenerator } from '../../core/id.ts';
import type { JobRecord } from '../../core/job.ts';
import { BACKGROUND_RETRY_MS, BACKGROUND_WAIT_MS } from './limits.ts';
import type { PendingRun } from '../../resources/responses/background.ts';
import { createRunNotifier } from '../../resources/responses/run-notifier.ts';
import type { JobOutcome } from '../handler.ts';
import { type ResponseHandlerDeps, createResponseHandler } from './response-handler.ts';

const NOW = Date.parse('2026-07-01T12:00:00Z');
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const RUN: PendingRun = {
  id: 'resp_1',
  owner: OWNER,
  body: {},
  createdAt: NOW,
  isStreamed: true,
  hasPartialAnswer: false,
};
const JOB: JobRecord = {
  id: 'job_1',
  kind: 'response',
  subject: RUN.id,
  owner: OWNER,
  payload: {},
  state: 'running',
  priority: 1,
  attempt: 3,
  attemptsMax: 5,
  attemptsLeft: 5,
  dueAt: NOW,
  leaseOwner: 'a',
  isCancelled: false,
  progress: undefined,
  error: undefined,
  createdAt: NOW,
  startedAt: NOW,
  endedAt: undefined,
};
const DONE: JobOutcome = { type: 'done' };

interface TestHandlerOptions {
  /** The pending run; undefined: none. */
  run?: PendingRun | undefined;
  isKeyValid?: boolean;
  deadlineMs?: number;
  answer?: (context: RequestContext, abort: (reason: ServiceError) => void) => Promise<void>;
  now?: number;
}

/** Creates a handler, and records its actions and log lines. */
function createTestHandler({
  run = RUN,
  isKeyValid = true,
  deadlineMs = 60_000,
  answer = async () => undefined,
  now = NOW,
}: TestHandlerOptions) {
  const actions: string[] = [];
  const contexts: RequestContext[] = [];
  const logLines: Record<string, unknown>[] = [];
  const notifier = createRunNotifier();
  const stop = new AbortController();
  let waiting: PendingRun | undefined = run;
  const deps: ResponseHandlerDeps = {
    background: {
      findPending: async () => waiting,
      fail: async (id, error, attempt) => void actions.push(`${id} failed ${error.kind} ${attempt ?? 'any attempt'}`),
      cancelRun: async (id) => void actions.push(`${id} cancelled`),
    },
    notifier: notifier,
    keys: {
      findActive: async (id) =>
        isKeyValid
          ? {
              id,
              region: OWNER.region,
              workspace: OWNER.workspace,
              name: '',
              hint: '',
              createdAt: 0,
              expiresAt: undefined,
              revokedAt: undefined,
              usedAt: undefined,
            }
          : undefined,
    },
    clock: { now: () => now, monotonic: () => 0 },
    ids: systemIdGenerator,
    log: { info: (_, fields) => void logLines.push({ ...fields }), warn: () => undefined },
    deadlineMs,
    async answer({ abort }, context) {
      contexts.push(context);
      await answer(context, abort);
    },
  };
  const handler = createResponseHandler(deps);
  return {
    actions,
    contexts,
    logLines,
    notifier,
    stop,
    handler,
    setPending: (next: PendingRun | undefined) => void (waiting = next),
    result: () => handler.run({ job: JOB, signal: stop.signal, report: () => undefined }),
  };
}

const waitForAbort = ({ signal }: RequestContext) =>
  new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
const rejectWith = (error: ServiceError) => async (): Promise<void> => {
  throw error;
};

describe('createResponseHandler', () => {
  it('generates the response for its owner and logs its usage', async () => {
    const { result, actions, contexts, logLines } = createTestHandler({
      answer: async ({ log }) => log.add({ promptTokens: 7 }),
    });
    assert.deepEqual([await result(), actions], [DONE, []]);
    assert.deepEqual(contexts[0]?.owner, OWNER);
    const { requestId: _, durationMs: __, ...line } = logLines[0] ?? {};
    assert.deepEqual(line, { response: 'resp_1', kind: 'none', ...OWNER, promptTokens: 7 });
  });

  it('does nothing for an ended or deleted response', async () => {
    const { result, setPending, contexts, actions } = createTestHandler({});
    setPending(undefined);
    assert.deepEqual([await result(), contexts, actions], [DONE, [], []]);
  });

  it('fails without generating if the key was revoked', async () => {
    const { result, contexts, actions } = createTestHandler({ isKeyValid: false });
    assert.deepEqual([await result(), contexts, actions], [DONE, [], ['resp_1 failed unauthenticated any attempt']]);
  });

  it('does not generate a partly sent response again', async () => {
    const { result, contexts, actions } = createTestHandler({ run: { ...RUN, hasPartialAnswer: true } });
    assert.deepEqual([await result(), contexts, actions], [DONE, [], ['resp_1 failed engine-failed any attempt']]);
  });

  for (const kind of ['locked', 'overloaded', 'rate-limited'] as const) {
    const again = { type: 'rerun', delayMs: BACKGROUND_RETRY_MS };
    it(`retries later on a temporary rejection: ${kind}`, async () => {
      const answer = rejectWith(new ServiceError(kind, ''));
      const early = createTestHandler({ answer, now: NOW + BACKGROUND_WAIT_MS - 1 });
      assert.deepEqual([await early.result(), early.actions], [again, []]);
      const late = createTestHandler({ answer, now: NOW + BACKGROUND_WAIT_MS });
      assert.deepEqual([await late.result(), late.actions], [DONE, [`resp_1 failed ${kind} 3`]]);
    });
  }

  it('does not retry once a part was sent', async () => {
    const { result, setPending, actions } = createTestHandler({
      answer: async () => {
        setPending({ ...RUN, hasPartialAnswer: true });
        throw new ServiceError('overloaded', '');
      },
    });
    assert.deepEqual([await result(), actions], [DONE, ['resp_1 failed overloaded 3']]);
  });

  it('reports other failures to the owner and finishes the job', async () => {
    const { result, actions, logLines } = createTestHandler({
      answer: rejectWith(new ServiceError('context-exceeded', '')),
    });
    assert.deepEqual([await result(), actions], [DONE, ['resp_1 failed context-exceeded 3']]);
    assert.equal(logLines[0]?.['kind'], 'context-exceeded');
  });

  it('fails at its deadline', async () => {
    const { result, actions } = createTestHandler({ deadlineMs: 1, answer: waitForAbort });
    assert.deepEqual([await result(), actions], [DONE, ['resp_1 failed timeout 3']]);
  });

  it('fails with the reason of an abort', async () => {
    const { result, actions } = createTestHandler({
      answer: async (context, abort) => {
        const aborting = waitForAbort(context);
        abort(new ServiceError('too-large', ''));
        await aborting;
      },
    });
    assert.deepEqual([await result(), actions], [DONE, ['resp_1 failed too-large 3']]);
  });

  it('stops at once when this process ends the response', async () => {
    const abortedAfterEvent: boolean[] = [];
    const { result, notifier, actions, setPending } = createTestHandler({
      answer: async (context) => {
        const aborting = waitForAbort(context);
        setPending(undefined);
        for (const [id, event] of [
          ['resp_other', 'ended'],
          ['resp_1', 'updated'],
          ['resp_1', 'ended'],
        ] as const) {
          notifier.notify(id, event);
          abortedAfterEvent.push(context.signal.aborted);
        }
        await aborting;
      },
    });
    assert.deepEqual([await result(), actions], [{ type: 'rerun', delayMs: 0 }, []]);
    assert.deepEqual(abortedAfterEvent, [false, false, true]);
  });

  it('fails on a cancellation that did not come from the response, instead of retrying forever', async () => {
    const { result, actions } = createTestHandler({ answer: rejectWith(new ServiceError('cancelled', '')) });
    assert.deepEqual([await result(), actions], [DONE, ['resp_1 failed cancelled 3']]);
  });

  it('leaves the response to other processes when its job is stopped', async () => {
    const { result, stop, actions } = createTestHandler({
      answer: async (context) => {
        const aborting = waitForAbort(context);
        stop.abort('shutdown');
        await aborting;
      },
    });
    await assert.rejects(result());
    assert.deepEqual(actions, []);
  });

  it('ends the response when its job ends', async () => {
    const { handler, actions } = createTestHandler({});
    await handler.cancel?.(JOB);
    await handler.giveUp?.(JOB, new Error('again and again'));
    assert.deepEqual(actions, ['resp_1 cancelled', 'resp_1 failed internal any attempt']);
  });
});
