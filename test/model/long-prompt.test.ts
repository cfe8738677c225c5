import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEngineRequest, runToEnd } from '../contracts/engine-contract.ts';
import { openTestLlama, SEQUENCES } from './test-llama.ts';
import { getWeightsFileSkipReason } from './weights.ts';

const WEIGHTS = 'qwen2.5-coder-0.5b-instruct-q4_k_m';

/** Tokens of a coding agent's first prompt. */
const PROMPT_TOKENS = 13_200;

const CONTEXT_TEST = {
  skip: getWeightsFileSkipReason(WEIGHTS),
};

test(
  'the default configuration takes a coding agent’s first prompt, and short requests run beside it',
  CONTEXT_TEST,
  async () => {
    const llama = await openTestLlama(WEIGHTS, undefined, {});
    try {
      const { contextTokens } = await llama.engine.loadModel();
      assert.equal(contextTokens, 32_768);
      assert.equal((await llama.health()).sequences, SEQUENCES);
      const aborting = new AbortController();
      const segments = [{ text: ' word'.repeat(PROMPT_TOKENS), special: false }];
      const long = await llama.engine.start(
        createEngineRequest('', { input: { type: 'segments', segments } }),
        aborting.signal,
      );
      assert.equal(long.promptTokens, PROMPT_TOKENS);
      const short = () => runToEnd(llama.engine, createEngineRequest('Hello', { maxTokens: 3 }));
      for (const answer of await Promise.all([short(), short()])) assert.notEqual(answer.text, '');
      assert.equal((await llama.health()).busySequences, 1, 'the long prompt is still evaluated');
      aborting.abort();
      await assert.rejects(async () => {
        for await (const _ of long.batches);
      });
    } finally {
      await llama.close();
    }
  },
);
