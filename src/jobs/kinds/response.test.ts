import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import { systemIds } from '../../core/id.ts';
import type { JobRecord } from '../../core/job.ts';
import { BACKGROUND_RETRY_MS, BACKGROUND_WAIT_MS } from '../../core/limits.ts';
import type { WaitingRun } from '../../resources/responses/background.ts';
import { createRunBell } from '../../resources/responses/run-bell.ts';
import type { JobOutcome } from '../handler.ts';
import { type ResponseJobNeeds, responseJob } from './response.ts';

const NOW = Date.parse('2026-07-01T12:00:00Z');
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const RUN: WaitingRun = {
  id: 'resp_1',
  owner: OWNER,
  body: {},
  createdAt: NOW,
  isStreamed: true,
  isBroken: false,
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
  tries: 5,
  triesLeft: 5,
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

interface Room {
  /** What there is to be made; undefined: nothing. */
  run?: WaitingRun | undefined;
  isKeyValid?: boolean;
  deadlineMs?: number;
  answer?: (context: RequestContext, abort: (reason: ServiceError) => void) => Promise<void>;
  now?: number;
}

/** A handler, what it did with its response, and what it wrote down. */
function room({ run = RUN, isKeyValid = true, deadlineMs = 60_000, answer = async () => undefined, now = NOW }: Room) {
  const did: string[] = [];
  const asked: RequestContext[] = [];
  const lines: Record<string, unknown>[] = [];
  const bell = createRunBell();
  const stop = new AbortController();
  let waiting: WaitingRun | undefined = run;
  const needs: ResponseJobNeeds = {
    background: {
      findWaiting: async () => waiting,
      fail: async (id, error, attempt) => void did.push(`${id} failed ${error.kind} ${attempt ?? 'anybody'}`),
      cancelWaiting: async (id) => void did.push(`${id} cancelled`),
    },
    bell,
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
            }
          : undefined,
    },
    clock: { now: () => now, monotonic: () => 0 },
    ids: systemIds,
    log: { info: (_, facts) => void lines.push({ ...facts }), warn: () => undefined },
    deadlineMs,
    async answer({ abort }, context) {
      asked.push(context);
      await answer(context, abort);
    },
  };
  const handler = responseJob(needs);
  return {
    did,
    asked,
    lines,
    bell,
    stop,
    handler,
    leave: (left: WaitingRun | undefined) => void (waiting = left),
    result: () => handler.run({ job: JOB, signal: stop.signal, report: () => undefined }),
  };
}

const aborted = ({ signal }: RequestContext) =>
  new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
const refuse = (error: ServiceError) => async (): Promise<void> => {
  throw error;
};

describe('the job of a response', () => {
  it('answers as its owner asks, and writes down what was used', async () => {
    const { result, did, asked, lines } = room({ answer: async ({ log }) => log.add({ promptTokens: 7 }) });
    assert.deepEqual([await result(), did], [DONE, []]);
    assert.deepEqual(asked[0]?.owner, OWNER);
    const { requestId: _, durationMs: __, ...line } = lines[0] ?? {};
    assert.deepEqual(line, { response: 'resp_1', kind: 'none', ...OWNER, promptTokens: 7 });
  });

  it('does nothing for one that has ended or is deleted', async () => {
    const { result, leave, asked, did } = room({});
    leave(undefined);
    assert.deepEqual([await result(), asked, did], [DONE, [], []]);
  });

  it('asks nobody for a key that is not valid any more', async () => {
    const { result, asked, did } = room({ isKeyValid: false });
    assert.deepEqual([await result(), asked, did], [DONE, [], ['resp_1 failed unauthenticated anybody']]);
  });

  it('does not make again what was told in part', async () => {
    const { result, asked, did } = room({ run: { ...RUN, isBroken: true } });
    assert.deepEqual([await result(), asked, did], [DONE, [], ['resp_1 failed engine-failed anybody']]);
  });

  for (const kind of ['locked', 'overloaded', 'rate-limited'] as const) {
    const again = { type: 'again', afterMs: BACKGROUND_RETRY_MS };
    it(`waits where a live one is refused for now: ${kind}`, async () => {
      const answer = refuse(new ServiceError(kind, ''));
      const early = room({ answer, now: NOW + BACKGROUND_WAIT_MS - 1 });
      assert.deepEqual([await early.result(), early.did], [again, []]);
      const late = room({ answer, now: NOW + BACKGROUND_WAIT_MS });
      assert.deepEqual([await late.result(), late.did], [DONE, [`resp_1 failed ${kind} 3`]]);
    });
  }

  it('waits for nothing when a part was told', async () => {
    const { result, leave, did } = room({
      answer: async () => {
        leave({ ...RUN, isBroken: true });
        throw new ServiceError('overloaded', '');
      },
    });
    assert.deepEqual([await result(), did], [DONE, ['resp_1 failed overloaded 3']]);
  });

  it('tells its owner of any other failure, and is done', async () => {
    const { result, did, lines } = room({ answer: refuse(new ServiceError('context-exceeded', '')) });
    assert.deepEqual([await result(), did], [DONE, ['resp_1 failed context-exceeded 3']]);
    assert.equal(lines[0]?.['kind'], 'context-exceeded');
  });

  it('fails at its deadline', async () => {
    const { result, did } = room({ deadlineMs: 1, answer: aborted });
    assert.deepEqual([await result(), did], [DONE, ['resp_1 failed timeout 3']]);
  });

  it('fails with the reason where it cannot go on', async () => {
    const { result, did } = room({
      answer: async (context, abort) => {
        const over = aborted(context);
        abort(new ServiceError('too-large', ''));
        await over;
      },
    });
    assert.deepEqual([await result(), did], [DONE, ['resp_1 failed too-large 3']]);
  });

  it('stops at once when somebody of this process ended the response', async () => {
    const seen: boolean[] = [];
    const { result, bell, did, leave } = room({
      answer: async (context) => {
        const over = aborted(context);
        leave(undefined);
        for (const [id, news] of [
          ['resp_other', 'ended'],
          ['resp_1', 'told'],
          ['resp_1', 'ended'],
        ] as const) {
          bell.ring(id, news);
          seen.push(context.signal.aborted);
        }
        await over;
      },
    });
    assert.deepEqual([await result(), did], [{ type: 'again', afterMs: 0 }, []]);
    assert.deepEqual(seen, [false, false, true]);
  });

  it('fails where something else was cancelled than the response, instead of trying for ever', async () => {
    const { result, did } = room({ answer: refuse(new ServiceError('cancelled', '')) });
    assert.deepEqual([await result(), did], [DONE, ['resp_1 failed cancelled 3']]);
  });

  it('leaves the rest to others when its job is taken from it', async () => {
    const { result, stop, did } = room({
      answer: async (context) => {
        const over = aborted(context);
        stop.abort('shutdown');
        await over;
      },
    });
    await assert.rejects(result());
    assert.deepEqual(did, []);
  });

  it('ends the response with its job', async () => {
    const { handler, did } = room({});
    await handler.cancel?.(JOB);
    await handler.giveUp?.(JOB, new Error('again and again'));
    assert.deepEqual(did, ['resp_1 cancelled', 'resp_1 failed internal anybody']);
  });
});
