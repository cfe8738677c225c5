import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServiceError } from '../core/error.ts';
import type { RequestContext } from '../core/context.ts';
import { NO_STOP, type GenerationRequest } from '../core/request.ts';
import { createFitHistory } from './fit-history.ts';

const CONTEXT_TOKENS = 100;

interface FitHistoryCase extends Partial<GenerationRequest> {
  /** Tokens of each turn; `fixed` are the tokens of the rest of the prompt. */
  readonly turns: readonly number[];
  readonly fixed: number;
  readonly counts?: boolean;
  /** Error of each count. */
  readonly countFails?: ServiceError;
  readonly reportsOverflow?: boolean;
  /** Records runs and counts in their order. */
  readonly log?: string[];
}

/** Runs createFitHistory with a fake model. The name of each message is its number of tokens. */
async function runFitHistory({
  turns,
  fixed,
  counts = true,
  countFails,
  reportsOverflow = true,
  log = [],
  ...fields
}: FitHistoryCase) {
  const countTokens = ({ messages }: GenerationRequest): number =>
    messages.reduce((sum, { name }) => sum + Number(name), 0);
  const fitHistory = createFitHistory({
    async generate(request) {
      const tokens = countTokens(request);
      log.push(`run ${tokens}`);
      if (tokens < CONTEXT_TOKENS) return { batches: (async function* () {})(), ignored: [] };
      const excess = { tokens, tokensMax: CONTEXT_TOKENS - 1 };
      throw new ServiceError('context-exceeded', 'too long', reportsOverflow ? { tokenOverflow: excess } : {});
    },
    async countPrompt(request) {
      if (countFails) throw countFails;
      if (!counts) return { tokens: 1, isEstimated: true, ignored: [] };
      log.push(`count ${countTokens(request)}`);
      return { tokens: countTokens(request), isEstimated: false, ignored: [] };
    },
  });
  const without = (dropped: number): GenerationRequest => ({
    model: 'm',
    messages: [...turns.slice(dropped), fixed].map((tokens) => ({ role: 'user', content: [], name: String(tokens) })),
    sampling: {},
    stop: NO_STOP,
    choices: 1,
    ...fields,
  });
  const { droppedTurns: dropped } = await fitHistory(
    { droppableTurns: turns.length, withoutOldestTurns: without },
    { interface: 'responses' },
    REQUEST_CONTEXT,
  );
  return { dropped, log };
}

const REQUEST_CONTEXT: RequestContext = {
  requestId: 'r',
  owner: { workspace: 'w', region: 'cn-beijing', keyId: 'k' },
  signal: new AbortController().signal,
  log: { add: () => undefined, warn: () => undefined },
};

describe('createFitHistory', () => {
  test('keeps the whole history when it fits, without counting its tokens', async () => {
    assert.deepEqual(await runFitHistory({ turns: [30, 30], fixed: 35 }), { dropped: 0, log: ['run 95'] });
  });

  for (const [name, fields, dropped] of [
    ['leaves an eighth of the context for the answer', { turns: [10, 10, 10, 10], fixed: 65 }, 2],
    ['leaves max_completion_tokens for the answer', { turns: [10, 10, 10, 10], fixed: 65, maxTotalTokens: 2 }, 1],
    [
      'leaves at most half of the context for the answer',
      { turns: [10, 10, 10, 10], fixed: 65, maxTotalTokens: 90 },
      4,
    ],
    ['leaves max_tokens for the answer', { turns: [10, 10, 10, 10], fixed: 65, maxTokens: 30 }, 4],
    ['drops the whole history when the rest is too long', { turns: [5, 5], fixed: 95 }, 2],
  ] as const) {
    test(name, async () => assert.equal((await runFitHistory(fields)).dropped, dropped));
  }

  for (const length of [69, 100, 1_000, 100_000]) {
    test(`counts few prompts of about the context's length for ${length} turns`, async () => {
      const { dropped, log } = await runFitHistory({ turns: Array.from({ length }, () => 1), fixed: 31 });
      assert.equal(dropped, length - 56);
      const counts = log.filter((each) => each.startsWith('count')).map((each) => Number(each.split(' ')[1]));
      assert.ok(counts.length <= 12, log.join());
      assert.ok(Math.max(...counts) < 2 * CONTEXT_TOKENS, log.join());
    });
  }

  for (const [name, fields] of [
    ['the engine cannot count', { counts: false }],
    ['the error does not report the context size', { reportsOverflow: false }],
  ] as const) {
    test(`drops half of the turns at a time when ${name}`, async () => {
      const { dropped, log } = await runFitHistory({ turns: [50, 50, 50, 50, 50], fixed: 20, ...fields });
      assert.equal(dropped, 4);
      assert.deepEqual(log, ['run 270', 'run 120', 'run 70']);
    });
  }

  test('fails when counting fails', async () => {
    const countFails = new ServiceError('overloaded', 'Busy.');
    await assert.rejects(runFitHistory({ turns: [50, 50, 50], fixed: 20, countFails }), countFails);
  });

  test('rejects a request that is too long without any history and passes other errors on', async () => {
    const log: string[] = [];
    await assert.rejects(runFitHistory({ turns: [10, 10], fixed: 100, log }), { kind: 'context-exceeded' });
    await assert.rejects(runFitHistory({ turns: [], fixed: 100, log }), { kind: 'context-exceeded' });
    assert.deepEqual(
      log.filter((each) => !each.startsWith('count')),
      ['run 120', 'run 100', 'run 100'],
    );
  });
});
