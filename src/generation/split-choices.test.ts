import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EngineRequest, TextEngine } from '../engines/engine.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import { createTestGeneration, REQUEST } from './__fixtures__/test-generation.ts';
import { collectResult } from './collect-result.ts';
import { createSplitChoices } from './split-choices.ts';

/** Creates a generation over an engine that generates `sequences` choices at once and records its requests. */
function createTestSplit(sequences: number) {
  const requests: EngineRequest[] = [];
  const scripted = createScriptedEngine({
    sequences,
    script: () => [{ type: 'tokens', tokens: ['a ', `${requests.length}`] }],
  });
  const engine: TextEngine = {
    ...scripted,
    start(request, signal) {
      requests.push(request);
      return scripted.start(request, signal);
    },
  };
  const { deps, context, records } = createTestGeneration(engine);
  const generate = createSplitChoices(deps)(deps.generate);
  return {
    requests,
    records,
    answer: async (change: Partial<typeof REQUEST> & { readonly choices: number }) =>
      await collectResult((await generate({ ...REQUEST, ...change }, { interface: 'chat' }, context)).batches),
  };
}

describe('createSplitChoices', () => {
  it('runs as many choices at once as the engine can, one run after another, as one answer', async () => {
    const { requests, records, answer } = createTestSplit(2);
    const { choices, usage } = await answer({ choices: 5, sampling: { seed: 7 } });
    assert.deepEqual(
      choices.map(({ blocks, reason }) => [blocks.map(({ text }) => text).join(''), reason]),
      [1, 1, 2, 2, 3].map((run) => [`a ${run}`, 'stop']),
    );
    assert.deepEqual(
      requests.map((request) => [request.choices, request.sampling.seed]),
      [
        [2, 7],
        [2, 9],
        [1, 11],
      ],
    );
    const [first] = records.settled;
    assert.equal(usage.promptTokens, first?.usage.promptTokens);
    assert.equal(usage.completionTokens, 10);
    assert.equal(records.permits, records.releases);
    assert.equal(records.leases, records.leasesReleased);
  });

  it('leaves a request alone that the engine can generate at once', async () => {
    const { requests, answer } = createTestSplit(2);
    assert.equal((await answer({ choices: 2 })).choices.length, 2);
    assert.deepEqual(
      requests.map(({ choices }) => choices),
      [2],
    );
  });
});
