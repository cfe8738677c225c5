import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../../test/until.ts';
import type { CodeInterpreter } from '../../core/server-tools.ts';
import {
  createTestServerTools,
  createFakeInterpreter,
  collectEvents,
  createSearchResult,
  SEARCH,
  type TestServerToolsOptions,
} from './__fixtures__/test-server-tools.ts';

const DECISION = ['{"message": "asks for facts", "search": "Orsay"}'];
const HANG = { type: 'hang' } as const;
const waitUntil = (look: () => boolean): Promise<true> =>
  until('what is to happen', { timeoutMs: 30_000 }, async () => look() || undefined);

const CALL = '<tool_call>\n{"name": "code_interpreter", "arguments": {"code": "while True: pass"}}\n</tool_call>';

/** Work that never finishes, with counts of starts and aborts. */
function createEndless() {
  const state = { started: 0, aborted: 0 };
  const endless = (_: unknown, signal: AbortSignal): Promise<never> => {
    state.started++;
    signal.addEventListener('abort', () => void state.aborted++);
    return new Promise(() => undefined);
  };
  return { state, endless };
}

interface Case {
  readonly options: TestServerToolsOptions;
  readonly tools: Parameters<ReturnType<typeof createTestServerTools>['generate']>[0];
  readonly isRunning: () => boolean;
  readonly isAborted: () => boolean;
}

const CASES: Record<string, () => Case> = {
  'a search': () => {
    const { state, endless } = createEndless();
    return {
      options: { script: [DECISION], search: endless },
      tools: { search: SEARCH },
      isRunning: () => state.started === 1,
      isAborted: () => state.aborted === 1,
    };
  },
  'a page': () => {
    const { state, endless } = createEndless();
    return {
      options: {
        script: [DECISION, ['{"next": "read", "page": 1}']],
        results: () => [createSearchResult('Orsay', 'A museum.')],
        readPage: endless,
      },
      tools: { search: { ...SEARCH, strategy: 'agent-max' } },
      isRunning: () => state.started === 1,
      isAborted: () => state.aborted === 1,
    };
  },
  'a program': () => {
    const { state, endless } = createEndless();
    const { code, record } = createFakeInterpreter(endless);
    return {
      options: { script: [[CALL]], code },
      tools: { code: { fileIds: [] } },
      isRunning: () => state.started === 1,
      isAborted: () => state.aborted === 1 && record.released === 1,
    };
  },
};

describe('cancellation', () => {
  for (const [what, create] of Object.entries(CASES)) {
    it(`aborts ${what} at once when the caller disconnects`, async () => {
      const { options, tools, isRunning, isAborted } = create();
      const harness = createTestServerTools(options);
      const reading = harness.generate(tools).then(collectEvents);
      await waitUntil(isRunning);
      harness.caller.abort(new Error('gone'));
      await assert.rejects(reading, { message: 'gone' });
      assert.ok(isAborted());
      assert.equal(harness.records.releases, harness.records.permits);
    });

    it(`aborts ${what} at once on return, and rejects the pending read`, async () => {
      const { options, tools, isRunning, isAborted } = create();
      const harness = createTestServerTools(options);
      const reader = (await harness.generate(tools)).batches[Symbol.asyncIterator]();
      const reading = (async () => {
        for (;;) if ((await reader.next()).done) return;
      })();
      reading.catch(() => undefined);
      await waitUntil(isRunning);
      await reader.return?.();
      await assert.rejects(reading, { kind: 'cancelled' });
      assert.ok(isAborted());
    });
  }

  it('cancels the model run, even without a reader', async () => {
    for (const script of [[DECISION, ['It ', HANG]], [[HANG]]]) {
      const harness = createTestServerTools({ script, results: () => [createSearchResult('Orsay', 'A museum.')] });
      const pending = harness.generate({ search: SEARCH });
      pending.catch(() => undefined);
      if (script.length === 2) {
        const reader = (await pending).batches[Symbol.asyncIterator]();
        for (let i = 0; i < 3; i++) await reader.next();
        await waitUntil(() => harness.engineRequests.length === 2);
      } else await waitUntil(() => harness.engineRequests.length === 1);
      harness.caller.abort(new Error('gone'));
      await waitUntil(() => harness.runsCancelled.at(-1) === true);
      assert.equal(harness.records.releases, harness.records.permits);
    }
  });

  it('releases a container that opens after the disconnect', async () => {
    const opening = Promise.withResolvers<void>();
    let released = 0;
    const code: CodeInterpreter = {
      open: async () => {
        await opening.promise;
        return { id: 'c', run: () => Promise.reject(new Error('never')), release: () => void released++ };
      },
    };
    const harness = createTestServerTools({ script: [['x']], code });
    const pending = harness.generate({ code: { fileIds: [] } });
    pending.catch(() => undefined);
    await waitUntil(() => harness.records.leases > 0);
    harness.caller.abort(new Error('gone'));
    opening.resolve();
    await assert.rejects(pending);
    await waitUntil(() => released === 1);
  });

  it('releases everything before the first event is read', async () => {
    const { code, record } = createFakeInterpreter(async () => ({}));
    const harness = createTestServerTools({ script: [['a', HANG]], code });
    const { batches } = await harness.generate({ code: { fileIds: [] } });
    await batches[Symbol.asyncIterator]().return?.();
    assert.equal(record.released, 1);
    await waitUntil(() => harness.runsCancelled.length === 1);
  });
});
