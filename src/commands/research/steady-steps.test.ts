import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { ResearchStep } from '../../core/research.ts';
import { playResearch, REPORT_STEPS } from './__fixtures__/play-research.ts';
import { steadySteps } from './steady-steps.ts';

const request = { model: 'svc-deep-research', messages: [], reportSize: 'detailed' } as const;
const busy = new ServiceError('overloaded', 'The queue is full.');

describe('steps of a run', () => {
  /** @param failures What a step meets, by its place in the run, one for each try. */
  async function take(failures: Readonly<Record<number, readonly unknown[]>>, stop = new AbortController()) {
    const left = new Map(Object.entries(failures).map(([at, met]) => [Number(at), [...met]]));
    const taken: ResearchStep[] = [];
    const pauses: number[] = [];
    const begun: number[] = [];
    const played = playResearch();
    const context = {
      requestId: 'research_1',
      owner: { workspace: 'default', region: 'cn-beijing', keyId: 'key_1' },
      signal: stop.signal,
      log: { add: () => undefined, warn: () => undefined },
      startedAt: 0,
    } as const;
    const run: typeof played.run = async function* (wish, past, within) {
      begun.push(past.length);
      let at = past.length;
      for await (const step of played.run(wish, past, within)) {
        const failure = left.get(at)?.shift();
        if (failure) throw failure;
        at += 1;
        yield step;
      }
    };
    const pause = async (ms: number) => {
      pauses.push(ms);
      stop.signal.throwIfAborted();
    };
    try {
      for await (const step of steadySteps({ run }, request, { context, pause })) taken.push(step);
      return { taken, pauses, begun, error: undefined };
    } catch (error) {
      return { taken, pauses, begun, error };
    }
  }

  it('are tried again where they stopped, each later than before, when what stops them may pass', async () => {
    const { taken, pauses, begun, error } = await take({
      2: [
        busy,
        new ServiceError('engine-failed', 'gone'),
        new ServiceError('rate-limited', 'wait', { retryAfterSeconds: 9 }),
      ],
      4: [busy],
    });
    assert.equal(error, undefined);
    assert.deepEqual(
      taken.map(({ tell }) => tell),
      REPORT_STEPS,
    );
    assert.deepEqual(pauses, [1_000, 2_000, 9_000, 1_000]);
    assert.deepEqual(begun, [0, 2, 2, 2, 4]);
  });

  it('end with the failure that does not pass', async () => {
    const { taken, pauses, error } = await take({ 1: Array.from({ length: 9 }, () => busy) });
    assert.deepEqual([taken.length, pauses, error], [1, [1_000, 2_000, 4_000, 8_000, 16_000], busy]);
    const later = new ServiceError('rate-limited', 'tomorrow', { retryAfterSeconds: 86_400 });
    for (const failure of [new ServiceError('context-exceeded', 'too long'), later, new TypeError('ours')]) {
      const met = await take({ 0: [failure] });
      assert.deepEqual([met.pauses, met.error], [[], failure]);
    }
  });

  it('are not tried again when the work is stopped', async () => {
    const stop = new AbortController();
    const reason = new ServiceError('cancelled', 'Stopped.');
    stop.abort(reason);
    const { pauses, error } = await take({ 0: [busy] }, stop);
    assert.deepEqual([pauses, error], [[], reason]);
  });
});
