import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import type { ResearchStep } from '../research.ts';
import { createScriptedResearch, REPORT_STEPS } from './__fixtures__/scripted-research.ts';
import { runStepsWithRetries } from './run-steps-with-retries.ts';

const request = { model: 'svc-deep-research', messages: [], reportSize: 'detailed' } as const;
const busy = new ServiceError('overloaded', 'The queue is full.');

describe('runStepsWithRetries', () => {
  /** @param failures Errors of a step by its index, one per attempt. */
  async function runAll(failures: Readonly<Record<number, readonly unknown[]>>, stop = new AbortController()) {
    const left = new Map(Object.entries(failures).map(([at, errors]) => [Number(at), [...errors]]));
    const steps: ResearchStep[] = [];
    const pauses: number[] = [];
    const firstSteps: number[] = [];
    const scripted = createScriptedResearch();
    const context = {
      requestId: 'research_1',
      owner: { workspace: 'default', region: 'cn-beijing', keyId: 'key_1' },
      signal: stop.signal,
      log: { add: () => undefined, warn: () => undefined },
      startedAt: 0,
    } as const;
    const run: typeof scripted.run = async function* (input, past, runContext) {
      firstSteps.push(past.length);
      let at = past.length;
      for await (const step of scripted.run(input, past, runContext)) {
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
      for await (const step of runStepsWithRetries({ run }, request, { context, pause })) steps.push(step);
      return { steps, pauses, firstSteps, error: undefined };
    } catch (error) {
      return { steps, pauses, firstSteps, error };
    }
  }

  it('retries a step after transient errors with growing pauses', async () => {
    const { steps, pauses, firstSteps, error } = await runAll({
      2: [
        busy,
        new ServiceError('engine-failed', 'gone'),
        new ServiceError('rate-limited', 'wait', { retryAfterSeconds: 9 }),
      ],
      4: [busy],
    });
    assert.equal(error, undefined);
    assert.deepEqual(
      steps.map(({ events }) => events),
      REPORT_STEPS,
    );
    assert.deepEqual(pauses, [1_000, 2_000, 9_000, 1_000]);
    assert.deepEqual(firstSteps, [0, 2, 2, 2, 4]);
  });

  it('throws a permanent error', async () => {
    const { steps, pauses, error } = await runAll({ 1: Array.from({ length: 9 }, () => busy) });
    assert.deepEqual([steps.length, pauses, error], [1, [1_000, 2_000, 4_000, 8_000, 16_000], busy]);
    const later = new ServiceError('rate-limited', 'tomorrow', { retryAfterSeconds: 86_400 });
    for (const failure of [new ServiceError('context-exceeded', 'too long'), later, new TypeError('ours')]) {
      const result = await runAll({ 0: [failure] });
      assert.deepEqual([result.pauses, result.error], [[], failure]);
    }
  });

  it('does not retry after an abort', async () => {
    const stop = new AbortController();
    const reason = new ServiceError('cancelled', 'Stopped.');
    stop.abort(reason);
    const { pauses, error } = await runAll({ 0: [busy] }, stop);
    assert.deepEqual([pauses, error], [[], reason]);
  });
});
