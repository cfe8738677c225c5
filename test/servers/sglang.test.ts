import assert from 'node:assert/strict';
import { createCompletionEngine } from '../../src/engines/completion/completion-engine.ts';
import { createUpstreamEngine } from '../../src/engines/upstream/upstream-engine.ts';
import { EMBEDDED_FEATURES, describeEngineContract } from '../contracts/engine-contract.ts';
import type { EngineFeatures } from '../contracts/engine-contract.ts';
import { describeServer } from './describe-server.ts';
import { createSubjectFactory } from './relayed-server.ts';

const address = process.env.PARLEY_TEST_SGLANG_URL;
assert.ok(address !== undefined, 'PARLEY_TEST_SGLANG_URL is to name a running SGLang: docs/servers.md');

/** Number of concurrent requests with which docs/servers.md starts the server. */
const SEQUENCES = 4;

const CHATML =
  "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";

const TOKENS: EngineFeatures = {
  ...EMBEDDED_FEATURES,
  embeddings: false,
  failureKind: 'upstream-failed',
};
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
  ownedBy: 'sglang',
  countsPath: '/v1/loads',
  countsPattern: /"num_(?:running|waiting)_reqs":(\d+)/g,
  sequences: SEQUENCES,
});

const openTokenEngine = createSubject(({ url, model }) =>
  createCompletionEngine({ url, model, server: 'sglang', sequences: SEQUENCES, chatTemplate: CHATML }),
);
const openChatEngine = createSubject(({ url, model }) => createUpstreamEngine({ url: `${url}/v1`, model }));

describeEngineContract('sglang with token prompts', TOKENS, openTokenEngine);
describeEngineContract('sglang with chat messages', CHAT, openChatEngine);
describeServer('sglang', { openTokenEngine, openChatEngine, address, chatTemplate: CHATML });
