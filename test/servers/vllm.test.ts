import assert from 'node:assert/strict';
import { createCompletionEngine } from '../../src/engines/completion/completion-engine.ts';
import { createUpstreamEngine } from '../../src/engines/upstream/upstream-engine.ts';
import { EMBEDDED, engineContract } from '../contracts/engine-contract.ts';
import type { Declared } from '../contracts/engine-contract.ts';
import { trialOf } from './reached-server.ts';

const address = process.env.PARLEY_TEST_VLLM_URL;
assert.ok(address !== undefined, 'PARLEY_TEST_VLLM_URL is to name a running vLLM: docs/servers.md');

/** As that page says that it is started. */
const SEQUENCES = 4;

const TOKENS: Declared = { ...EMBEDDED, embeddings: false, death: 'upstream-failed' };
const CHAT: Declared = { ...TOKENS, input: 'chat', grammar: false, phases: false, tokens: false, queues: false };

const trial = trialOf(address, {
  owner: 'vllm',
  countsAt: '/metrics',
  counts: /^vllm:num_requests_(?:running|waiting)\{.*\} (\S+)$/gm,
  sequences: SEQUENCES,
});

engineContract(
  'vllm by its tokens',
  TOKENS,
  trial(({ url, model }) => createCompletionEngine({ url, model, server: 'vllm', sequences: SEQUENCES })),
);

engineContract(
  'vllm by its chats',
  CHAT,
  trial(({ url, model }) => createUpstreamEngine({ url: `${url}/v1`, model })),
);
