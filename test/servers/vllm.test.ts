import assert from 'node:assert/strict';
import { createCompletionEngine } from '../../src/engines/completion/completion-engine.ts';
import { createUpstreamEngine } from '../../src/engines/upstream/upstream-engine.ts';
import { EMBEDDED_FEATURES, describeEngineContract } from '../contracts/engine-contract.ts';
import type { EngineFeatures } from '../contracts/engine-contract.ts';
import { describeServer } from './describe-server.ts';
import { createSubjectFactory } from './relayed-server.ts';

const address = process.env.PARLEY_TEST_VLLM_URL;
assert.ok(address !== undefined, 'PARLEY_TEST_VLLM_URL is to name a running vLLM: docs/servers.md');

/** Number of concurrent requests with which docs/servers.md starts the server. */
const SEQUENCES = 4;

const TOKENS: EngineFeatures = { ...EMBEDDED_FEATURES, embeddings: false, failureKind: 'upstream-failed' };
const CHAT: EngineFeatures = {
  ...TOKENS,
  input: 'chat',
  promptLogprobs: false,
  grammar: false,
  phases: false,
  tokens: false,
  hasQueue: false,
};

const createSubject = createSubjectFactory(address, {
  ownedBy: 'vllm',
  countsPath: '/metrics',
  countsPattern: /^vllm:num_requests_(?:running|waiting)\{.*\} (\S+)$/gm,
  sequences: SEQUENCES,
});

const openTokenEngine = createSubject(({ url, model }) =>
  createCompletionEngine({ url, model, server: 'vllm', sequences: SEQUENCES }),
);
const openChatEngine = createSubject(({ url, model }) => createUpstreamEngine({ url: `${url}/v1`, model }));

describeEngineContract('vllm with token prompts', TOKENS, openTokenEngine);
describeEngineContract('vllm with chat messages', CHAT, openChatEngine);
describeServer('vllm', { openTokenEngine, openChatEngine, address });
