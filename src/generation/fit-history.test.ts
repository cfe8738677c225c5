import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServiceError } from '../core/error.ts';
import type { RequestContext } from '../core/context.ts';
import type { GenerationRequest } from '../core/request.ts';
import { NO_STOP } from '../core/request.ts';
import { createFitHistory } from './fit-history.ts';

const CONTEXT = 100;

interface Wish extends Partial<GenerationRequest> {
  /** Tokens of each turn, and of what is always told. */
  readonly turns: readonly number[];
  readonly fixed: number;
  readonly counts?: boolean;
  readonly tellsExcess?: boolean;
}

/** A model whose prompts have so many tokens. Each turn is a message that says how many it has. */
async function fitted({ turns, fixed, counts = true, tellsExcess = true, ...wish }: Wish) {
  const log: string[] = [];
  const tokensOf = ({ messages }: GenerationRequest): number =>
    messages.reduce((sum, { name }) => sum + Number(name), 0);
  const fitHistory = createFitHistory({
    async generate(request) {
      const tokens = tokensOf(request);
      log.push(`run ${tokens}`);
      if (tokens < CONTEXT) return { batches: (async function* () {})(), ignored: [] };
      const excess = { tokens, tokensMax: CONTEXT - 1 };
      throw new ServiceError('context-exceeded', 'too long', tellsExcess ? { excess } : {});
    },
    async countPrompt(request) {
      if (!counts) throw new ServiceError('unsupported', 'cannot count');
      log.push('count');
      return { tokens: tokensOf(request), ignored: [] };
    },
  });
  const without = (dropped: number): GenerationRequest => ({
    model: 'm',
    messages: [...turns.slice(dropped), fixed].map((tokens) => ({ role: 'user', content: [], name: String(tokens) })),
    sampling: {},
    stop: NO_STOP,
    choices: 1,
    ...wish,
  });
  const { dropped } = await fitHistory({ turns: turns.length, without }, { interface: 'responses' }, CONTEXT_OF_NONE);
  return { dropped, log };
}

const CONTEXT_OF_NONE: RequestContext = {
  requestId: 'r',
  owner: { workspace: 'w', region: 'cn-beijing', keyId: 'k' },
  signal: new AbortController().signal,
  log: { add: () => undefined, warn: () => undefined },
};

describe('a history that is fitted', () => {
  test('stays whole where the context holds it, with no look at its length', async () => {
    assert.deepEqual(await fitted({ turns: [30, 30], fixed: 35 }), { dropped: 0, log: ['run 95'] });
  });

  for (const [name, wish, dropped] of [
    ['leaves an eighth of the context to the answer', { turns: [10, 10, 10, 10], fixed: 65 }, 2],
    ['leaves what the answer may have', { turns: [10, 10, 10, 10], fixed: 65, maxTotalTokens: 2 }, 1],
    ['leaves at most half of the context', { turns: [10, 10, 10, 10], fixed: 65, maxTotalTokens: 90 }, 4],
    ['counts the answer alone where that is limited', { turns: [10, 10, 10, 10], fixed: 65, maxTokens: 30 }, 4],
    ['is left out as a whole where what stays needs more', { turns: [5, 5], fixed: 95 }, 2],
  ] as const) {
    test(name, async () => assert.equal((await fitted(wish)).dropped, dropped));
  }

  test('is bisected: few counts for many turns', async () => {
    const { dropped, log } = await fitted({ turns: Array.from({ length: 1_000 }, () => 1), fixed: 20 });
    assert.equal(dropped, 1_000 - 67);
    assert.ok(log.filter((each) => each === 'count').length <= 10, log.join());
  });

  for (const [name, wish] of [
    ['the engine cannot count', { counts: false }],
    ['nobody says how much the context holds', { tellsExcess: false }],
  ] as const) {
    test(`is halved where ${name}`, async () => {
      const { dropped, log } = await fitted({ turns: [50, 50, 50, 50, 50], fixed: 20, ...wish });
      assert.equal(dropped, 4);
      assert.deepEqual(log, ['run 270', 'run 120', 'run 70']);
    });
  }

  test('is refused where even nothing of it leaves no room, and for any other reason at once', async () => {
    await assert.rejects(fitted({ turns: [10, 10], fixed: 100 }), { kind: 'context-exceeded' });
    await assert.rejects(fitted({ turns: [], fixed: 100 }), { kind: 'context-exceeded' });
  });
});
