import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../../test/until.ts';
import type { CodeInterpreter } from '../../core/server-tools.ts';
import { createHands, createInterpreter, eventsOf, found, SEARCH } from './__fixtures__/hands.ts';
import type { HandsOptions } from './__fixtures__/hands.ts';

const QUERY = ['{"message": "asks for facts", "search": "Orsay"}'];
const HANG = { type: 'hang' } as const;
const soon = (look: () => boolean): Promise<true> =>
  until('what is to happen', { withinMs: 30_000 }, async () => look() || undefined);

const CALL = '<tool_call>\n{"name": "code_interpreter", "arguments": {"code": "while True: pass"}}\n</tool_call>';

/** Work that never ends by itself, and what became of it. */
function createEndless() {
  const state = { begun: 0, aborted: 0 };
  const endless = (_: unknown, signal: AbortSignal): Promise<never> => {
    state.begun++;
    signal.addEventListener('abort', () => void state.aborted++);
    return new Promise(() => undefined);
  };
  return { state, endless };
}

interface Case {
  readonly options: HandsOptions;
  readonly tools: Parameters<ReturnType<typeof createHands>['generate']>[0];
  readonly isOn: () => boolean;
  readonly isOver: () => boolean;
}

const CASES: Record<string, () => Case> = {
  'a search': () => {
    const { state, endless } = createEndless();
    return {
      options: { script: [QUERY], search: endless },
      tools: { search: SEARCH },
      isOn: () => state.begun === 1,
      isOver: () => state.aborted === 1,
    };
  },
  'a page': () => {
    const { state, endless } = createEndless();
    return {
      options: {
        script: [QUERY, ['{"next": "read", "page": 1}']],
        results: () => [found('Orsay', 'A museum.')],
        readPage: endless,
      },
      tools: { search: { ...SEARCH, strategy: 'agent-max' } },
      isOn: () => state.begun === 1,
      isOver: () => state.aborted === 1,
    };
  },
  'a program': () => {
    const { state, endless } = createEndless();
    const { code, books } = createInterpreter(endless);
    return {
      options: { script: [[CALL]], code },
      tools: { code: { fileIds: [] } },
      isOn: () => state.begun === 1,
      isOver: () => state.aborted === 1 && books.released === 1,
    };
  },
};

describe('a caller who goes', () => {
  for (const [what, create] of Object.entries(CASES)) {
    it(`ends ${what} at once, while it is waited for`, async () => {
      const { options, tools, isOn, isOver } = create();
      const hands = createHands(options);
      const reading = hands.generate(tools).then(eventsOf);
      await soon(isOn);
      hands.caller.abort(new Error('gone'));
      await assert.rejects(reading, { message: 'gone' });
      assert.ok(isOver());
      assert.equal(hands.books.releases, hands.books.permits);
    });

    it(`ends ${what} at once by returning, and the reader gets its answer`, async () => {
      const { options, tools, isOn, isOver } = create();
      const hands = createHands(options);
      const reader = (await hands.generate(tools)).batches[Symbol.asyncIterator]();
      const reading = (async () => {
        for (;;) if ((await reader.next()).done) return;
      })();
      reading.catch(() => undefined);
      await soon(isOn);
      await reader.return?.();
      await assert.rejects(reading, { kind: 'cancelled' });
      assert.ok(isOver());
    });
  }

  it('ends the run of the model, also while none is reading', async () => {
    for (const script of [[QUERY, ['It ', HANG]], [[HANG]]]) {
      const hands = createHands({ script, results: () => [found('Orsay', 'A museum.')] });
      const begun = hands.generate({ search: SEARCH });
      begun.catch(() => undefined);
      if (script.length === 2) {
        const reader = (await begun).batches[Symbol.asyncIterator]();
        for (let i = 0; i < 3; i++) await reader.next();
        await soon(() => hands.asked.length === 2);
      } else await soon(() => hands.asked.length === 1);
      hands.caller.abort(new Error('gone'));
      await soon(() => hands.ended.at(-1) === true);
      assert.equal(hands.books.releases, hands.books.permits);
    }
  });

  it('gives a container back that opens too late', async () => {
    const opening = Promise.withResolvers<void>();
    let released = 0;
    const code: CodeInterpreter = {
      open: async () => {
        await opening.promise;
        return { id: 'c', run: () => Promise.reject(new Error('never')), release: () => void released++ };
      },
    };
    const hands = createHands({ script: [['x']], code });
    const begun = hands.generate({ code: { fileIds: [] } });
    begun.catch(() => undefined);
    await soon(() => hands.books.leases > 0);
    hands.caller.abort(new Error('gone'));
    opening.resolve();
    await assert.rejects(begun);
    await soon(() => released === 1);
  });

  it('before the first event is read holds nothing', async () => {
    const { code, books } = createInterpreter(async () => ({}));
    const hands = createHands({ script: [['a', HANG]], code });
    const { batches } = await hands.generate({ code: { fileIds: [] } });
    await batches[Symbol.asyncIterator]().return?.();
    assert.equal(books.released, 1);
    await soon(() => hands.ended.length === 1);
  });
});
