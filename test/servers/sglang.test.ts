import assert from 'node:assert/strict';
import { createCompletionEngine } from '../../src/engines/completion/completion-engine.ts';
import { createUpstreamEngine } from '../../src/engines/upstream/upstream-engine.ts';
import { EMBEDDED, engineContract } from '../contracts/engine-contract.ts';
import type { Declared } from '../contracts/engine-contract.ts';
import { trialOf } from './reached-server.ts';

const address = process.env.PARLEY_TEST_SGLANG_URL;
assert.ok(address !== undefined, 'PARLEY_TEST_SGLANG_URL is to name a running SGLang: docs/servers.md');

/** As that page says that it is started. */
const SEQUENCES = 4;

const CHATML =
  "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";

const TOKENS: Declared = { ...EMBEDDED, logprobs: false, grammar: true, embeddings: false, death: 'upstream-failed' };
const CHAT: Declared = {
  ...TOKENS,
  input: 'chat',
  logprobs: true,
  grammar: false,
  phases: false,
  tokens: false,
  queues: false,
};

const trial = trialOf(address, {
  owner: 'sglang',
  countsAt: '/v1/loads',
  counts: /"num_(?:running|waiting)_reqs":(\d+)/g,
  sequences: SEQUENCES,
});

engineContract(
  'sglang by its tokens',
  TOKENS,
  trial(({ url, model }) =>
    createCompletionEngine({ url, model, server: 'sglang', sequences: SEQUENCES, chatTemplate: CHATML }),
  ),
);

engineContract(
  'sglang by its chats',
  CHAT,
  trial(({ url, model }) => createUpstreamEngine({ url: `${url}/v1`, model })),
);
